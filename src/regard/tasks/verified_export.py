"""A model for other programs: written in their format, read again, compared, and only then put in its place."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import FileError, InputError, UnknownNameError
from regard.interop.ctranslate2_export import transformer_only
from regard.interop.huggingface import no_form
from regard.interop.model_card import PIPELINES, card
from regard.interop.transformers_export import (
    LogitComparison,
    auto_class,
    check_empty,
    compared,
    one_tokenizer,
    write_folder,
)
from regard.models import Recurrent
from regard.tasks.ctranslate2_folder import write_compared
from regard.tasks.export_card import facts_of, usage
from regard.tasks.long_texts import trained_longest
from regard.tasks.model_folder import ModelFolder, check_sizes, find, tokenizer_of
from regard.tasks.onnx_folder import write_compared_onnx
from regard.tasks.translator import LONGEST
from regard.text.bpe import Paired

FORMATS = ("huggingface", "ctranslate2", "onnx")
LOADS = {"ctranslate2": "ctranslate2.Translator", "onnx": "onnxruntime.InferenceSession"}


@dataclass(frozen=True)
class ExportReport:
    """What was written, how it was checked, the class that loads it, and lines of Python that do."""

    folder: Path
    format: str
    files: list[str]
    loads: str
    compared: list[LogitComparison]
    usage: str


def export(
    name: str | Path, out: str | Path, to: str = "huggingface", *, quantization: str | None = None
) -> ExportReport:
    """Write a model and its tokenizer for `transformers`, CTranslate2 or ONNX, with a card.

    There it gives the same ids, logits and texts: the folder is read again and compared, by the program that it is for
    (by our own reader where `transformers` is not installed), before it is put in its place. `quantization` is how
    CTranslate2 keeps the weights: float32, float16, bfloat16 or int8.
    """
    out = Path(out)
    check_options(out, to, quantization)
    source = find(name)
    if source.generation is not None:
        raise InputError(f"{name} is in that format already", found=source.origin, do=f"copy {source.folder}")
    tokenizer = tokenizer_of(source)
    check_sizes(source, tokenizer)
    temporary = out.resolve().with_name(f".{out.resolve().name}.{os.getpid()}.part")
    try:
        comparisons = write(source, tokenizer, temporary, to, quantization or "float32")
        loads = LOADS.get(to) or auto_class(source.model)  # type: ignore[arg-type]
        code = usage(to, loads, out.name, paired=isinstance(tokenizer, Paired))
        text = card(facts_of(source, out.name), to, PIPELINES.get(loads, "translation"), [f"```python\n{code}\n```"])
        (temporary / "README.md").write_text(text, encoding="utf-8")
        files = sorted(path.name for path in temporary.iterdir())
        if out.is_dir():
            out.rmdir()
        temporary.replace(out)
    except OSError as error:
        raise FileError(f"cannot write {out}", found=str(error), do="choose another --out, or make room") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return ExportReport(out, to, files, loads, comparisons, usage(to, loads, out, paired=isinstance(tokenizer, Paired)))


def check_options(out: Path, to: str, quantization: str | None) -> None:
    """Refuse what can be refused before a model is read."""
    if to not in FORMATS:
        raise UnknownNameError("format", to, (*FORMATS, "regard"))
    if quantization is not None and to != "ctranslate2":
        raise InputError(
            "only a folder for CTranslate2 is quantised",
            found=f"--to {to}",
            do="--to ctranslate2, or no --quantization",
        )
    if out.resolve() == Path.cwd():
        raise FileError("the folder you are in cannot be replaced", found=str(out), do="name a new one: --out NAME")
    check_empty(out)


def write(source: ModelFolder, tokenizer: Any, folder: Path, to: str, quantization: str) -> list[LogitComparison]:
    """Write a folder of that format and compare what is read from it."""
    model = source.model
    if to == "huggingface":
        if isinstance(model, Recurrent):
            raise no_form()
        codec = one_tokenizer(tokenizer)
        write_folder(model, codec, folder)
        return compared(model, codec, folder)
    longest = trained_longest(source.folder) or LONGEST
    if to == "onnx":
        return write_compared_onnx(transformer_only(model), tokenizer, folder, longest=longest)
    return write_compared(transformer_only(model), tokenizer, folder, longest=longest, quantization=quantization)
