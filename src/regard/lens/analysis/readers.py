"""Texts through a model of ours: to ids, to what a decoder reads, and through one forward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from regard.lens.recording.tokens import side_of
from regard.models.config import BlockConfig
from regard.tasks import Translator
from regard.tasks.model_folder import Task
from regard.tasks.text_ids import encode
from regard.text.tokenizer import Batch

Rows = list[list[int]]


class Reader(Protocol):
    """What a subject asks of a model, whoever wrote it."""

    @property
    def model(self) -> Any: ...
    @property
    def tokenizer(self) -> Any:
        """Gives single ids their strings."""

    @property
    def origin(self) -> str:
        """Where the model comes from, for people."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know."""

    @property
    def pair(self) -> bool:
        """Has it a source and a target?"""

    @property
    def pad(self) -> int:
        """The id that fills up."""

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The most tokens it can read, of a source and of a target."""

    def encode(self, texts: Sequence[str]) -> Rows: ...
    def encode_targets(self, texts: Sequence[str]) -> Rows:
        """What the decoder reads when it is to say these texts, and behind it what it is then to write last."""

    def say(self, rows: Rows, *, greedy: bool = False) -> Rows:
        """The same of what the model itself makes of each source: the last token is written, and not read."""

    def read(self, source: Batch, target: Batch | None) -> Tensor | None:
        """One forward, and the logits that it gave: of all positions or the last few, or one row for each text."""


@dataclass(frozen=True)
class TaskReader:
    """A task's model."""

    task: Task
    origin: str
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> Any:
        return self.task.model

    @property
    def tokenizer(self) -> Any:
        return self.task.tokenizer

    @property
    def pair(self) -> bool:
        return isinstance(self.task, Translator)

    @property
    def pad(self) -> int:
        return self.model.config.pad or 0

    @property
    def limits(self) -> tuple[int | None, int | None]:
        config = self.model.config
        theirs = getattr(self.task, "generation", None) is not None  # whose tables of positions have an end
        most = config.max_length if isinstance(config, BlockConfig) and (
            config.positions == "learned" or theirs) else None  # fmt: skip
        return most, most

    def encode(self, texts: Sequence[str]) -> Rows:
        config = self.model.config
        return encode(self.tokenizer, texts, config.source_vocabulary if self.pair else config.vocabulary)

    def encode_targets(self, texts: Sequence[str]) -> Rows:
        config = self.model.config
        rows = encode(side_of(self.tokenizer, "target"), texts, config.target_vocabulary)
        return [[self.start, *(row if row[-1:] == [config.end] else [*row, config.end])] for row in rows]

    @property
    def start(self) -> int:
        theirs = getattr(self.task, "generation", None)
        number: int = self.model.config.start if theirs is None or theirs.start is None else theirs.start
        return number

    def say(self, rows: Rows, *, greedy: bool = False) -> Rows:
        assert isinstance(self.task, Translator)
        how = self.task.beams(1 if greedy else None, None)
        hypotheses = self.task.decode(rows, how, self.task.limits(None))
        return [[self.start, *best.ids, *([] if best.end is None else [best.end])] for best, *_ in hypotheses]

    @torch.no_grad()
    def read(self, source: Batch, target: Batch | None) -> Tensor:
        device = next(self.model.parameters()).device
        ids, mask = source.ids.to(device), None if bool(source.mask.all()) else source.mask.to(device)
        logits: Tensor = self.model(ids, mask) if target is None else self.model(ids, target.ids.to(device), mask)
        return logits
