"""Going on where the last start stopped."""

from __future__ import annotations

import torch

from regard.errors import FileError
from regard.training.loop.checkpoint_files import Position, newest, sweep
from regard.training.loop.loop import TrainingLoop
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
        return
    if damaged:
        loop.listener(Note("no checkpoint is whole: starting from the beginning", warning=True))
    loop.position = Position(threads=torch.get_num_threads(), micro_batches=loop.how.micro_batches)
