"""Going on where the last start stopped."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.errors import FileError
from regard.training.loop.checkpoint_files import Position, newest, sweep
from regard.training.loop.loop import TrainingLoop
from regard.training.loop.training_state import processes_of
from regard.training.report.events import Note


def resume(loop: TrainingLoop) -> None:
    """Put a loop at its newest checkpoint that is whole, or at its beginning; says which."""
    folder = loop.folder / "checkpoints"
    if loop.workers.first:
        sweep(folder)
    damaged = False
    for path, state in newest(folder):
        if isinstance(state, FileError):
            loop.listener(Note(f"{path.name} is damaged ({state.found}); falling back to the one before", warning=True))
            damaged = True
            continue
        loop.restore(*state)
        loop.listener(Note(f"going on after step {loop.position.step} ({path.name})"))
        compare_processes(loop, path.name, state[1])
        return
    if damaged:
        loop.listener(Note("no checkpoint is whole: starting from the beginning", warning=True))
    loop.position = Position(threads=torch.get_num_threads(), micro_batches=loop.how.micro_batches)


def compare_processes(loop: TrainingLoop, name: str, tensors: dict[str, Tensor]) -> None:
    """Say so where other processes go on than saved their random numbers: each sums other rows, with other dropout."""
    before, now = processes_of(tensors), loop.workers.count
    if before != now:
        saved = f"{before} process{'' if before == 1 else 'es'}"
        train = "trains" if now == 1 else "train"
        text = f"{name} holds the random numbers of {saved}, and {now} {train} now: the result is not bit for bit that"
        loop.listener(Note(f"{text} of a run without interruption", warning=True))
