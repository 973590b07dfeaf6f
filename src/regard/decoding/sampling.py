"""Sampling: the next id drawn by its probability, flattened or sharpened, from the likeliest ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from regard.decoding.finite import NEVER, not_finite
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

    def draw(logs_BV: Tensor) -> Tensor:
        probabilities = how.distribution(logs_BV)
        noise = torch.empty_like(probabilities)
        for row, generator in zip(noise, generators, strict=True):
            row.exponential_(generator=generator)
        # As torch.multinomial draws one, which would look for NaN first and so wait for the device at every step.
        return (probabilities / noise).argmax(-1)

    return pick_in_turn(stepper, prompt_BN, limits, draw)


def pick_in_turn(
    stepper: Stepper, prompt_BN: Tensor, limits: Limits, pick: Callable[[Tensor], Tensor]
) -> list[Hypothesis]:
    """One id after another for every row at once, until all have ended."""
    logits = stepper.advance(prompt_BN)
    rows = len(prompt_BN)
    ended = torch.zeros(rows, dtype=torch.bool, device=prompt_BN.device)
    scores = torch.zeros(rows, device=prompt_BN.device)
    output_ids: list[Tensor] = []
    filler = limits.end[0] if limits.end else 0
    for step in range(limits.longest):
        logs = limits.log_probabilities(logits, step)
        ids = pick(logs).masked_fill(ended, filler)
        scores += logs.gather(-1, ids[:, None])[:, 0].masked_fill(ended, 0.0)
        output_ids.append(ids)
        ended = ended | limits.ends(ids)
        if step == limits.longest - 1 or bool(ended.all() | ~(scores > NEVER).all()):
            break
        logits = stepper.advance(ids[:, None])
    texts, totals = torch.stack(output_ids, 1).tolist(), scores.tolist()
    if not all(total > NEVER for total in totals):  # nor NaN, which is not above anything
        raise not_finite(logits, getattr(stepper, "model", None), step)
    return [limits.hypothesis(ids, total) for ids, total in zip(texts, totals, strict=True)]
