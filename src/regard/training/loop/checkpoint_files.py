"""Training state on disk: safetensors and JSON, whole or not there, checked when it is read.

A checkpoint is a folder, step-000500, with state.safetensors and state.json, which holds the digest of the former. It
is written under another name and moved into place when both are safe on disk: a kill at any moment leaves the one
before. One that is damaged all the same is passed over, and said. Those that an interruption or the clock caused go
when the next planned one is there: which checkpoints are kept in the end depends on neither.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import FileError
from regard.models.checkpoint import replace_file
from regard.training.data.durable import sync

FORMAT = 1
PREFIX, PART = "step-", ".part"
PARTS = "micro_batches"  # a file that says in how many parts the next start must take its batches, at least


@dataclass
class Position:
    """Where a run stands: all that is not a tensor."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # of the epoch, next to be read
    seconds: float = 0.0
    bad: int = 0  # steps in a row whose loss was not a number
    skipped: int = 0  # such steps in all
    micro_batches: int = 1
    threads: int = 1
    best: dict[str, float] | None = None  # the scores of the best validation so far, as `selection` compares them
    best_step: int = 0
    waited: int = 0  # validations since
    moved: list[float] | None = None  # where the schedule was spread anew by the clock, as `Pace` has it
    measured: list[float] | None = None  # with a budget, seconds of a step and of a validation, as `Deadline` has them


def save_state(
    folder: Path,
    position: Position,
    tensors: dict[str, Tensor],
    keep: int,
    planned: Callable[[int], bool] = lambda step: True,
) -> Path:
    """Write a checkpoint, then forget those before the last `keep` whose steps are planned."""
    final = folder / f"{PREFIX}{position.step:06d}"
    beside = folder / f"{final.name}{PART}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(beside, ignore_errors=True)
        write_state(beside, position, tensors)
        shutil.rmtree(final, ignore_errors=True)
        beside.rename(final)
        sync(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(beside, ignore_errors=True)  # a full disk must not stay full because of us
        raise FileError(
            f"cannot save a checkpoint in {folder}",
            found=str(error),
            do="make room, then give the same command again: it goes on from the checkpoint before",
        ) from error
    newer = 0
    for number, path in enumerate(checkpoints(folder)):
        expected = planned(step_of(path))
        if newer >= keep if expected else newer >= 1 or number >= keep:
            shutil.rmtree(path, ignore_errors=True)
        newer += expected
    return final


def write_state(folder: Path, position: Position, tensors: dict[str, Tensor]) -> None:
    folder.mkdir()
    file = folder / "state.safetensors"
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, file)
    described = {"format": FORMAT, "digest": digest_of(file), **asdict(position)}
    described["seal"] = seal_of(described)
    (folder / "state.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    for path in (file, folder / "state.json", folder):
        sync(path)


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def seal_of(described: dict[str, Any]) -> str:
    """A digest of all that state.json says beside it."""
    text = json.dumps({name: value for name, value in described.items() if name != "seal"}, sort_keys=True)
    return hashlib.blake2b(text.encode()).hexdigest()[:32]


def checkpoints(folder: Path) -> list[Path]:
    """Newest first."""
    names = [path for path in folder.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdecimal()]
    return sorted(names, key=step_of, reverse=True)


def step_of(path: Path) -> int:
    return int(path.name.removeprefix(PREFIX))


def sweep(folder: Path) -> None:
    """Remove what a kill left half written, here and in the run's folder above."""
    for path in folder.glob(f"{PREFIX}*{PART}"):
        shutil.rmtree(path, ignore_errors=True)
    for path in folder.parent.glob(f".*{PART}"):
        path.unlink(missing_ok=True)


def remember_parts(folder: Path, parts: int) -> None:
    """For the next start: this one ends before it could save anything."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / PARTS, lambda path: path.write_text(f"{parts}\n", encoding="utf-8"))


def remembered_parts(folder: Path) -> int:
    try:
        return int((folder / PARTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 1


def read_state(path: Path) -> tuple[Position, dict[str, Tensor]]:
    """One checkpoint, if it is whole."""
    try:
        described: dict[str, Any] = json.loads((path / "state.json").read_text(encoding="utf-8"))
        file = path / "state.safetensors"
        if seal_of(described) != described["seal"]:
            raise FileError(f"{path} is damaged", found="the seal of state.json is another", do="remove it")
        if digest_of(file) != described["digest"]:
            raise FileError(f"{path} is damaged", found="the digest of state.safetensors is another", do="remove it")
        known = {field.name for field in fields(Position)}
        return Position(**{name: value for name, value in described.items() if name in known}), load_file(file)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise FileError(f"{path} is damaged", found=str(error) or type(error).__name__, do="remove it") from error


def newest(folder: Path) -> Iterator[tuple[Path, tuple[Position, dict[str, Tensor]] | FileError]]:
    """Checkpoints from the newest back, each read or with what is wrong with it."""
    for path in checkpoints(folder):
        try:
            yield path, read_state(path)
        except FileError as error:
            yield path, error
