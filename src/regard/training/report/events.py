"""What happens while a model is trained, told to whoever listens: the command line, a notebook, a test.

Each event knows its row in log.jsonl; what is only of the moment has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, NamedTuple


class Sample(NamedTuple):
    """One text of the validation set, what it should become, and what the model made of it."""

    source: str
    reference: str
    output: str


@dataclass(frozen=True)
class Event:
    """Something worth telling."""

    kind: ClassVar[str] = ""
    logged: ClassVar[bool] = True

    def row(self) -> dict[str, Any]:
        return {"event": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Note(Event):
    """A line for people: what was decided, what was dropped."""

    kind: ClassVar[str] = "note"
    text: str
    warning: bool = False


@dataclass(frozen=True)
class Preparing(Event):
    """Reading, training a tokenizer, encoding. `total` is None while nobody knows it."""

    kind: ClassVar[str] = "preparing"
    logged: ClassVar[bool] = False
    what: str
    done: int
    total: int | None = None


@dataclass(frozen=True)
class Planned(Event):
    """What is going to happen, measured on this machine before the first step. `seconds` are all that it should take.

    `minutes` is the budget, None where there is none.
    """

    kind: ClassVar[str] = "plan"
    minutes: float | None
    seconds: float
    model: str  # its sizes, in words
    steps: int
    step_seconds: float
    tokens: float  # that a step reads
    warmup: int
    validate_every: int


@dataclass(frozen=True)
class Started(Event):
    """Training begins, or goes on after `step`."""

    kind: ClassVar[str] = "started"
    step: int
    steps: int
    parameters: int
    device: str
    recipe: str  # the effective one, as TOML


@dataclass(frozen=True)
class Stepped(Event):
    """Where training stands. Tokens are those of source and target; `loss` is per target token, in nats."""

    kind: ClassVar[str] = "step"
    step: int
    steps: int
    epoch: int
    loss: float
    rate: float  # of learning
    tokens_per_second: float
    seconds: float  # trained in all, over every start
    left: float  # seconds, as far as one can tell


@dataclass(frozen=True)
class Validated(Event):
    """Scores on the validation set: "loss" always, then what the task has ("bleu", "chrf", "accuracy")."""

    kind: ClassVar[str] = "valid"
    step: int
    seconds: float
    scores: dict[str, float]
    best: bool
    samples: list[Sample] = field(default_factory=list)
    intervals: dict[str, float] = field(default_factory=dict)  # by how much a score may be off, either way (95 %)

    def row(self) -> dict[str, Any]:
        return {**super().row(), "samples": [sample._asdict() for sample in self.samples]}


@dataclass(frozen=True)
class Saved(Event):
    """A checkpoint is safe on disk."""

    kind: ClassVar[str] = "saved"
    logged: ClassVar[bool] = False
    step: int


@dataclass(frozen=True)
class Finished(Event):
    """The model is ready in its folder. `scores` are those of the validation set, and of the test sets by name."""

    kind: ClassVar[str] = "finished"
    step: int
    seconds: float
    folder: str
    scores: dict[str, dict[str, float]]
    why: str = ""  # "all steps done", or why it stopped earlier


Listener = Callable[[Event], None]


def silent(event: Event) -> None:
    """A listener that does not listen."""
