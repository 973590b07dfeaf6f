"""A language of a few words whose probabilities depend on the whole text before, and every text of it in plain Python.

`TableStepper` says the logits of a seeded table; `every_text` walks all that could be said, in float64 and without
tensors, so that a search can be compared with the truth.
"""

from __future__ import annotations

import math
import random
from functools import cache

import torch
from torch import Tensor

from regard.decoding import Beams, Hypothesis, Limits

Prefix = tuple[int, ...]


@cache
def table(seed: int, vocabulary: int, prefix: Prefix) -> tuple[float, ...]:
    """Logits after a prefix, its prompt included."""
    dice = random.Random(repr((seed, prefix)))
    return tuple(dice.gauss(0, 1.5) for _ in range(vocabulary))


class TableStepper:
    """A `Stepper` over the table that remembers what it was told, and counts how often it was asked."""

    def __init__(self, seed: int, vocabulary: int, rows: int) -> None:
        self.seed, self.vocabulary = seed, vocabulary
        self.prefixes: list[Prefix] = [()] * rows
        self.asked, self.beams, self.followed = 0, 1, False
        self.rows: list[int] = []  # at every call

    def advance(self, ids_BT: Tensor) -> Tensor:
        self.asked += 1
        self.rows.append(len(ids_BT))
        self.prefixes = [(*old, *new) for old, new in zip(self.prefixes, ids_BT.tolist(), strict=True)]
        return torch.tensor([table(self.seed, self.vocabulary, prefix) for prefix in self.prefixes])

    def widen(self, width: int) -> None:
        self.beams = width
        self.prefixes = [prefix for prefix in self.prefixes for _ in range(width)]

    def follow(self, rows: Tensor) -> None:
        assert [row // self.beams for row in rows.tolist()] == [row // self.beams for row in range(len(self.prefixes))]
        self.prefixes = [self.prefixes[row] for row in rows.tolist()]

    def select(self, texts: Tensor) -> None:
        rows = [text * self.beams + beam for text in texts.tolist() for beam in range(self.beams)]
        self.prefixes = [self.prefixes[row] for row in rows]


class ScriptedStepper(TableStepper):
    """The same, with the probabilities after each text written down; after any other text all are equally likely."""

    def __init__(self, script: dict[Prefix, list[float]], vocabulary: int, rows: int = 1) -> None:
        super().__init__(0, vocabulary, rows)
        self.script = script

    def advance(self, ids_BT: Tensor) -> Tensor:
        super().advance(ids_BT)
        even = [1 / self.vocabulary] * self.vocabulary
        return torch.tensor([self.script.get(prefix[1:], even) for prefix in self.prefixes]).log()


def log_probabilities(logits: tuple[float, ...], limits: Limits, step: int) -> dict[int, float]:
    """What may come next, by id."""
    if step == limits.longest - 1 and limits.closing is not None:
        return {limits.closing: 0.0}
    allowed = [i for i in range(len(logits)) if i not in limits.banned]
    if step + 1 < limits.shortest:
        allowed = [i for i in allowed if i not in limits.end]
    share = allowed if limits.renormalised else range(len(logits))
    total = math.log(sum(math.exp(logits[i]) for i in share))
    return {i: logits[i] - total for i in allowed}


def divisor(how: Beams, length: int) -> float:
    return ((5 + length) / 6) ** how.alpha if how.penalty == "paper" else length**how.alpha


def every_text(seed: int, vocabulary: int, prompt: Prefix, limits: Limits, how: Beams) -> list[Hypothesis]:
    """All texts that end, or are cut at the longest length, best first."""
    found: list[Hypothesis] = []

    def walk(said: Prefix, total: float) -> None:
        step = len(said)
        for token, log in log_probabilities(table(seed, vocabulary, (*prompt, *said)), limits, step).items():
            if token in limits.end:
                found.append(Hypothesis(said, (total + log) / divisor(how, step + 1), token))
            elif step + 1 == limits.longest:
                found.append(Hypothesis((*said, token), (total + log) / divisor(how, step + 1)))
            else:
                walk((*said, token), total + log)

    walk((), 0.0)
    return sorted(found, key=lambda text: -text.score)
