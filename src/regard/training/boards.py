"""The same curves for TensorBoard, which is an extra."""

from __future__ import annotations

import importlib
from pathlib import Path

from regard.errors import InputError
from regard.training.events import Event, Listener, Stepped, Validated


class Board:
    """A listener that writes scalars below a folder and passes everything on."""

    def __init__(self, folder: Path, listener: Listener) -> None:
        try:
            writers = importlib.import_module("torch.utils.tensorboard")
        except ImportError as error:
            raise InputError(
                "TensorBoard is not installed", found=str(error), do='pip install "regard[plots]"'
            ) from error
        self.writer = writers.SummaryWriter(str(folder / "tensorboard"))
        self.listener = listener

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
