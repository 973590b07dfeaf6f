"""The same curves for TensorBoard, which is an extra."""

from __future__ import annotations

import importlib
from functools import cached_property
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.training.report.events import Event, Listener, Stepped, Validated


class Board:
    """A listener that writes scalars below a folder and passes everything on."""

    def __init__(self, folder: Path, listener: Listener) -> None:
        try:
            self.writers = importlib.import_module("torch.utils.tensorboard")
        except ImportError as error:
            raise InputError(
                "TensorBoard is not installed", found=str(error), do='pip install "regard[plots]"'
            ) from error
        self.folder, self.listener = folder, listener

    @cached_property
    def writer(self) -> Any:
        """Made when there is something to write: a run that is refused leaves nothing behind."""
        return self.writers.SummaryWriter(str(self.folder / "tensorboard"))

    def __call__(self, event: Event) -> None:
        if isinstance(event, Stepped):
            for name, value in (
                ("loss", event.loss),
                ("rate", event.rate),
                ("tokens a second", event.tokens_per_second),
            ):
                self.writer.add_scalar(f"train/{name}", value, event.step)
        if isinstance(event, Validated):
            for name, value in event.scores.items():
                self.writer.add_scalar(f"valid/{name}", value, event.step)
            self.writer.flush()
        self.listener(event)
