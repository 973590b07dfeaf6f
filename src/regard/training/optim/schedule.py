"""How fast to learn at each step."""

from __future__ import annotations

import math

from regard.training.recipe.recipe import Training

RISE = 0.25  # of the run, until two passes must fully agree


def consistency_at(step: float, how: Training) -> float:
    """How much two passes must agree: little at first, or the easiest way to agree is to say the same of every text."""
    return how.consistency * min(1.0, step / (RISE * how.steps))


def rate_at(step: float, how: Training) -> float:
    """The rate of step 1, 2, ...: up in a line to the peak, then down as the schedule says.

    "inverse-root" is the paper's: with peak (dim * warmup)^-0.5 it is dim^-0.5 * min(step^-0.5, step * warmup^-1.5).
    """
    if step < how.warmup:
        return how.rate * step / how.warmup
    if how.schedule == "inverse-root":
        return how.rate * math.sqrt(max(how.warmup, 1) / max(step, 1))
    done = (step - how.warmup) / max(how.steps - how.warmup, 1)
    left = {"cosine": (1 + math.cos(math.pi * min(done, 1.0))) / 2, "linear": max(1 - done, 0.0), "constant": 1.0}
    return how.rate * (how.floor + (1 - how.floor) * left[how.schedule])
