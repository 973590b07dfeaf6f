"""How long things take beside each other: in turns within one run, so that what disturbs the machine disturbs all.

What is judged are ratios within a round, and of those the median, which a few disturbed rounds do not move.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import torch

from regard.claims.estimates import Estimate
from regard.claims.setting import Setting

Name = TypeVar("Name", bound=Hashable)
Times = dict[Name, list[float]]  # seconds, round by round
DOUBT = 0.025  # on each side of an interval


def in_turns(ways: Mapping[Name, Callable[[], object]], rounds: int, setting: Setting) -> Times[Name]:
    """How long each way takes in each round. Every round begins with another; the first, to warm up, is not counted."""
    names = list(ways)
    times: Times[Name] = {name: [] for name in names}
    for turn in range(rounds + 1):
        setting.on_progress(turn, rounds + 1)
        first = turn % len(names)
        for name in (*names[first:], *names[:first]):
            seconds = seconds_of(ways[name], setting.device)
            if turn:
                times[name].append(seconds)
    setting.on_progress(rounds + 1, rounds + 1)
    return times


def seconds_of(run: Callable[[], object], device: str) -> float:
    synchronize(device)
    begun = time.perf_counter()
    run()
    synchronize(device)
    return time.perf_counter() - begun


def synchronize(device: str) -> None:
    """A GPU works on while Python goes ahead: wait for it."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def median_of(values: Sequence[float]) -> Estimate:
    """With the interval that order alone gives: half of all rounds lie below the median, whatever disturbs them."""
    ordered = sorted(values)
    skipped = extremes(len(ordered))
    low, high = (ordered[skipped - 1], ordered[-skipped]) if skipped else (-math.inf, math.inf)
    return Estimate(statistics.median(ordered), low, high)


def extremes(count: int) -> int:
    """How many of so many values, from each end on, the interval may begin with; 0 where there are too few for any."""
    below = 0.0
    for place in range(count):
        below += math.comb(count, place) / 2**count
        if below > DOUBT:
            return place
    return count


def median_ratio(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """How many times as long the first takes, round by round."""
    return median_of([one / other for one, other in zip(first, second, strict=True)])


def growth(by_size: Mapping[int, Sequence[float]]) -> Estimate:
    """With which power of the size the time grows, round by round: 0 not at all, 1 in proportion, 2 with the square."""
    rounds = zip(*by_size.values(), strict=True)
    return median_of([power(dict(zip(by_size, one, strict=True))) for one in rounds])


def power(by_size: Mapping[int, float]) -> float:
    """The slope of the line nearest to the logarithms."""
    points = [(math.log(size), math.log(value)) for size, value in by_size.items()]
    middle_x, middle_y = (math.fsum(axis) / len(points) for axis in zip(*points, strict=True))
    width = math.fsum((x - middle_x) ** 2 for x, _ in points)
    return math.fsum((x - middle_x) * (y - middle_y) for x, y in points) / width
