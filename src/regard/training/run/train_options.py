"""What a call of `train` asks for beside the recipe."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import torch

from regard.training.report.events import Listener


@dataclass(frozen=True)
class TrainOptions:
    """Where to work, with what, and who listens."""

    out: Path
    base: Path
    strict: bool
    device: torch.device
    threads: int | None
    listener: Listener
    begun: float = field(default_factory=time.monotonic)  # a budget counts from here
    free: Collection[str] = ()  # what a budget may size
