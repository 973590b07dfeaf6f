"""A model of ours as a smaller folder: its weights in fewer bits, all else as it was, read again before it is there."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.errors import FileError, InputError
from regard.interop.transformers_export import check_empty
from regard.models import load_model, save_model
from regard.models.checkpoint import Model, own_tensors
from regard.models.quantised import ROW_ERROR, pack, row_error, unpack
from regard.tasks.model_folder import check_sizes, find, tokenizer_of

CARRIED = ("tokenizer*.json", "recipe.toml", "alignment.json", "README.md", "run.json", "log.jsonl")


@dataclass(frozen=True)
class StorageReport:
    """What was written: bytes of the weights before and after, and the largest error of a weight in its row."""

    folder: Path
    bits: int
    files: list[str]
    bytes_before: int
    bytes_after: int
    row_error: float
    format: str = "regard"


def store(name: str | Path, out: str | Path, bits: int = 8) -> StorageReport:
    """Write a model of ours with its weights in 8, 16 or 32 bits, and with everything that belongs to it.

    In 8 bits a row of a matrix is kept as whole numbers and one scale, so no weight moves by more than 1/254 of the
    largest in its row. What was written is read again and compared before it is put in its place.
    """
    out = Path(out)
    check_empty(out)
    model_folder = find(name)
    if model_folder.generation is not None:
        raise InputError(
            f"{name} is not in regard's format", found=model_folder.origin, do="give a model that regard trained"
        )
    check_sizes(model_folder, tokenizer_of(model_folder))
    temporary = out.resolve().with_name(f".{out.resolve().name}.{os.getpid()}.part")
    try:
        save_model(model_folder.model, temporary, bits)
        largest_error = compare(model_folder.model, load_model(temporary), bits)
        for path in (path for pattern in CARRIED for path in sorted(model_folder.folder.glob(pattern))):
            shutil.copyfile(path, temporary / path.name)
        files = sorted(path.name for path in temporary.iterdir())
        if out.is_dir():
            out.rmdir()
        temporary.replace(out)
    except OSError as error:
        raise FileError(f"cannot write {out}", found=str(error), do="choose another --out, or make room") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return StorageReport(out, bits, files, weight_bytes(model_folder.folder), weight_bytes(out), largest_error)


def compare(model: Model, again: Model, bits: int) -> float:
    """The largest error of a row; refused where what was read again is not what was meant to be written."""
    tensors = {name: tensor.detach() for name, tensor in own_tensors(model).items()}
    expected = unpack(pack(tensors, bits), "memory")
    errors: list[float] = []
    for name, tensor in own_tensors(again).items():
        errors.append(row_error(tensors[name], tensor.detach()))
        if not same(tensor, expected[name]) or (bits == 8 and errors[-1] > ROW_ERROR):
            raise FileError(
                f"{name} is not read as it was written",
                found=f"an error of {errors[-1]:.2g} in a row",
                do="try again, on another disk",
            )
    return max(errors, default=0.0)


def same(tensor: Tensor, expected: Tensor) -> bool:
    return torch.equal(tensor.detach(), expected.to(tensor.dtype))


def weight_bytes(folder: Path) -> int:
    return (folder / "model.safetensors").stat().st_size
