"""When a text ends, what may not be said, and what a search gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.decoding.finite import NEVER
from regard.errors import InputError


class Hypothesis(NamedTuple):
    """One text: its ids without start and end, the score it was chosen by, and which id ended it, if one did."""

    ids: tuple[int, ...]
    score: float
    end: int | None = None


@dataclass(frozen=True)
class Limits:
    """Lengths count the new ids, the end included."""

    longest: int
    end: tuple[int, ...] = ()
    shortest: int = 0
    banned: tuple[int, ...] = ()
    closing: int | None = None  # the id forced at the last position, as some models were trained to
    renormalised: bool = False  # what is banned gives its probability to the rest

    def __post_init__(self) -> None:
        """Refuse lengths that no text could have."""
        whole = isinstance(self.longest, int) and isinstance(self.shortest, int)
        if not whole or self.longest < 1 or not 0 <= self.shortest <= self.longest:
            raise InputError(
                "the longest text must have at least one id, and the shortest no more than the longest",
                found=f"shortest={self.shortest}, longest={self.longest}",
                do="choose 0 <= shortest <= longest",
            )

    def log_probabilities(self, logits_BV: Tensor, step: int) -> Tensor:
        """What may come as the new id number `step` (from 0), with the forbidden at -inf."""
        logs = logits_BV.float().log_softmax(-1)
        if step == self.longest - 1 and self.closing is not None:
            forced_logs = torch.full_like(logs, NEVER)
            forced_logs[:, self.closing] = 0.0
            return forced_logs
        forbidden_ids = [*self.banned, *(self.end if step < self.shortest - 1 else ())]
        if forbidden_ids:
            logs = logs.index_fill(-1, torch.tensor(forbidden_ids, device=logs.device), NEVER)
        return logs.log_softmax(-1) if self.renormalised and forbidden_ids else logs

    def ends(self, ids: Tensor) -> Tensor:
        """Which of these ids end a text."""
        ending = torch.zeros_like(ids, dtype=torch.bool)
        for end in self.end:
            ending = ending | (ids == end)
        return ending

    def hypothesis(self, ids: Sequence[int], score: float) -> Hypothesis:
        """What was said, up to the first end."""
        position = next((position for position, token in enumerate(ids) if token in self.end), None)
        return Hypothesis(tuple(ids[:position]), score, None if position is None else ids[position])
