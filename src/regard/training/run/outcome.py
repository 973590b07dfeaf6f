"""What a call of `train` gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Outcome:
    """How a run ended: "finished", "already finished", "interrupted" or "dry run"."""

    folder: Path
    status: str
    step: int = 0
    seconds: float = 0.0
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    why: str = ""
    recipe: str = ""
    parameters: int = 0
