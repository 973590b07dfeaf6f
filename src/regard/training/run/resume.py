"""Going on where the last start stopped."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.errors import FileError
from regard.training.loop.checkpoint_files import Position, newest, read_state, remembered_parts, sweep
from regard.training.loop.loop import TrainingLoop
from regard.training.loop.training_state import processes_of
from regard.training.report.events import Note


def resume(loop: TrainingLoop) -> None:
    """Put a loop at its newest checkpoint that is whole, or at its beginning; says which.

    The first process looks for it; the others read the one that it found.
    """
    folder, workers = loop.folder / "checkpoints", loop.workers
    name, state = find_whole(loop) if workers.first else ("", None)
    parts, name = workers.gather((remembered_parts(folder), name))[0]
    if name:
        position, tensors = workers.together(lambda: state or read_state(folder / name))
        position.micro_batches = max(position.micro_batches, parts)
        loop.restore(position, tensors)
        loop.listener(Note(f"going on after step {loop.position.step} ({name})"))
        compare_processes(loop, name, tensors)
        return
    parts = loop.update.gradients.parts = max(loop.how.micro_batches, parts)
    loop.position = Position(threads=torch.get_num_threads(), micro_batches=parts)


def find_whole(loop: TrainingLoop) -> tuple[str, tuple[Position, dict[str, Tensor]] | None]:
    """The name of the newest checkpoint that is whole, and what is in it; none at the beginning."""
    folder = loop.folder / "checkpoints"
    sweep(folder)
    damaged = False
    for path, state in newest(folder):
        if not isinstance(state, FileError):
            return path.name, state
        loop.listener(Note(f"{path.name} is damaged ({state.found}); falling back to the one before", warning=True))
        damaged = True
    if damaged:
        loop.listener(Note("no checkpoint is whole: starting from the beginning", warning=True))
    return "", None


def compare_processes(loop: TrainingLoop, name: str, tensors: dict[str, Tensor]) -> None:
    """Say so where other processes go on than saved their random numbers: each sums other rows, with other dropout."""
    before, now = processes_of(tensors), loop.workers.count
    if before != now:
        saved = f"{before} process{'' if before == 1 else 'es'}"
        train = "trains" if now == 1 else "train"
        text = f"{name} holds the random numbers of {saved}, and {now} {train} now: the result is not bit for bit that"
        loop.listener(Note(f"{text} of a run without interruption", warning=True))
