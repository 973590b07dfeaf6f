"""Sampling: the next id drawn by its probability, flattened or sharpened, from the likeliest ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from regard.decoding.finite import NEVER, not_finite
from regard.decoding.leaving import worth_leaving
from regard.decoding.limits import Hypothesis, Limits
from regard.decoding.stepper import Stepper
from regard.errors import InputError

COLDEST = 1e-30  # below, float32 itself would divide by 0


@dataclass(frozen=True)
class Sampling:
    """How to draw. `top_k` keeps that many ids and their equals; `top_p` the fewest whose probabilities reach it."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn from."""
        if not 0 < self.temperature < float("inf"):
            raise InputError("temperature must be greater than 0", found=f"{self.temperature}", do="0 is greedy search")
        if self.top_k is not None and (not isinstance(self.top_k, int) or self.top_k < 1):
            raise InputError("top_k must be at least 1", found=f"{self.top_k}", do="leave it out for no limit")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise InputError("top_p must be above 0 and at most 1", found=f"{self.top_p}", do="0.9 is usual")

    def distribution(self, logs_BV: Tensor) -> Tensor:
        """The probabilities drawn from."""
        # The largest becomes 0 first: however cold it is, that one stays finite and the rest may fall to -inf.
        scores = (logs_BV - logs_BV.amax(-1, keepdim=True)) / max(self.temperature, COLDEST)
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            threshold = scores.topk(self.top_k, -1).values[..., -1:]
            scores = scores.masked_fill(scores < threshold, NEVER)
        probabilities = scores.softmax(-1)
        if self.top_p is not None and self.top_p < 1:
            descending, order = probabilities.sort(-1, descending=True)
            beyond = descending.cumsum(-1) - descending >= self.top_p  # all that comes after the share is reached
            outside = torch.zeros_like(beyond).scatter(-1, order, beyond)
            probabilities = probabilities.masked_fill(outside, 0.0)
        return probabilities / probabilities.sum(-1, keepdim=True)


def text_seed(seed: int, number: int) -> int:
    """The seed of one text of many: the first has `seed` itself, the others numbers that do not meet."""
    return seed if number == 0 else Random(f"{seed} {number}").getrandbits(63)


@torch.no_grad()
def sample(
    stepper: Stepper, prompt_BN: Tensor, limits: Limits, how: Sampling, numbers: Sequence[int] | None = None
) -> list[Hypothesis]:
    """One drawn text for each row; the same seed draws the same.

    Each row has a generator of its own, seeded by its number among all texts (its place in the batch if none are
    given), so that its draws do not depend on what else is in the batch.
    """
    seeds = [text_seed(how.seed, number) for number in (range(len(prompt_BN)) if numbers is None else numbers)]
    generators = [torch.Generator(prompt_BN.device).manual_seed(seed) for seed in seeds]

    def draw(logs_BV: Tensor, rows: Sequence[int]) -> Tensor:
        probabilities = how.distribution(logs_BV)
        noise = torch.empty_like(probabilities)
        for place, row in enumerate(rows):
            noise[place].exponential_(generator=generators[row])
        # As torch.multinomial draws one, which would look for NaN first and so wait for the device at every step.
        return (probabilities / noise).argmax(-1)

    return pick_in_turn(stepper, prompt_BN, limits, draw)


def pick_in_turn(
    stepper: Stepper, prompt_BN: Tensor, limits: Limits, pick: Callable[[Tensor, Sequence[int]], Tensor]
) -> list[Hypothesis]:
    """One id after another for every row at once, until all have ended.

    `pick` gets the log probabilities of the rows that are still there, and their numbers.
    """
    logits = stepper.advance(prompt_BN)
    picks = Picks.start(len(prompt_BN), prompt_BN.device)
    results: dict[int, Hypothesis] = {}
    for step in range(limits.longest):
        over, stuck = picks.add(limits.log_probabilities(logits, step), limits, pick)
        if step == limits.longest - 1 or stuck or all(over):
            break
        if not stepper.followed and worth_leaving(over):
            results |= picks.results(limits, over)
            rest = torch.tensor([row for row, done in enumerate(over) if not done], device=prompt_BN.device)
            stepper.select(rest)
            picks = picks.select(rest)
        logits = stepper.advance(picks.output_ids[-1][:, None])
    if not all(total > NEVER for total in picks.scores.tolist()):  # nor NaN, which is not above anything
        raise not_finite(logits, getattr(stepper, "model", None), step)
    results |= picks.results(limits, [True] * len(picks.rows))
    return [results[row] for row in range(len(prompt_BN))]


@dataclass
class Picks:
    """What has been picked for the rows that are still there."""

    rows: list[int]  # their numbers
    scores: Tensor
    ended: Tensor
    output_ids: list[Tensor]  # of each step

    @classmethod
    def start(cls, rows: int, device: torch.device) -> Picks:
        ended = torch.zeros(rows, dtype=torch.bool, device=device)
        return cls(list(range(rows)), torch.zeros(rows, device=device), ended, [])

    def add(
        self, logs_BV: Tensor, limits: Limits, pick: Callable[[Tensor, Sequence[int]], Tensor]
    ) -> tuple[list[bool], bool]:
        """The next id of every row. Which rows have ended, and has one no score?"""
        ids = pick(logs_BV, self.rows).masked_fill(self.ended, limits.end[0] if limits.end else 0)
        self.scores = self.scores + logs_BV.gather(-1, ids[:, None])[:, 0].masked_fill(self.ended, 0.0)
        self.output_ids.append(ids)
        self.ended = self.ended | limits.ends(ids)
        *over, stuck = torch.cat([self.ended, ~(self.scores > NEVER).all()[None]]).tolist()
        return over, stuck

    def select(self, rest: Tensor) -> Picks:
        rows = [self.rows[row] for row in rest.tolist()]
        return Picks(rows, self.scores[rest], self.ended[rest], [ids[rest] for ids in self.output_ids])

    def results(self, limits: Limits, over: Sequence[bool]) -> dict[int, Hypothesis]:
        """By number, the texts of the rows that are over."""
        texts, totals = torch.stack(self.output_ids, 1).tolist(), self.scores.tolist()
        together = zip(self.rows, texts, totals, over, strict=True)
        return {row: limits.hypothesis(ids, total) for row, ids, total, done in together if done}
