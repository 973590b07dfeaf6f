"""A model for other programs: written in their format, read again, compared, and only then put in its place."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from regard.errors import FileError, InputError, UnknownNameError
from regard.interop.huggingface import no_form
from regard.interop.transformers_export import (
    LogitComparison,
    auto_class,
    check_empty,
    compared,
    one_tokenizer,
    write_folder,
)
from regard.models import Recurrent
from regard.tasks.model_folder import check_sizes, find, tokenizer_of

FORMATS = ("huggingface",)


@dataclass(frozen=True)
class ExportReport:
    """What was written, how it was checked, and the class that loads it."""

    folder: Path
    format: str
    files: list[str]
    loads: str
    compared: list[LogitComparison]


def export(name: str | Path, out: str | Path, to: str = "huggingface") -> ExportReport:
    """Write a model and its tokenizer for `transformers`, whose Auto classes then give the same ids, logits and texts.

    The folder is read again and compared, by our reader and by `transformers` where it is installed, before it is put
    in its place.
    """
    if to not in FORMATS:
        raise UnknownNameError("format", to, (*FORMATS, "regard"))
    out = Path(out)
    check_empty(out)
    model_folder = find(name)
    if model_folder.generation is not None:
        raise InputError(
            f"{name} is in that format already", found=model_folder.origin, do=f"copy {model_folder.folder}"
        )
    tokenizer = tokenizer_of(model_folder)
    check_sizes(model_folder, tokenizer)
    model = model_folder.model
    if isinstance(model, Recurrent):
        raise no_form()
    codec = one_tokenizer(tokenizer)
    temporary = out.resolve().with_name(f".{out.resolve().name}.{os.getpid()}.part")
    try:
        write_folder(model, codec, temporary)
        comparisons = compared(model, codec, temporary)
        files = sorted(path.name for path in temporary.iterdir())
        if out.is_dir():
            out.rmdir()
        temporary.replace(out)
    except OSError as error:
        raise FileError(f"cannot write {out}", found=str(error), do="choose another --out, or make room") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return ExportReport(out, to, files, auto_class(model), comparisons)
