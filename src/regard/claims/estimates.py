"""Numbers with how sure they are: the intervals that rules read and tables show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.errors import InputError

# 97.5 % of Student's distribution lies below these, for 1, 2, 3, ... degrees of freedom; beyond the last, the normal's.
STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
NORMAL = 1.960


@dataclass(frozen=True)
class Estimate:
    """A number, and between which two it lies with 95 % confidence; an exact one lies between itself and itself."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        return self.low == self.value == self.high

    def above(self, bound: float) -> bool:
        """Whether all of the interval is."""
        return self.low > bound

    def below(self, bound: float) -> bool:
        return self.high < bound


class Loosely(Estimate):
    """The same number, asked whether any of its interval is above or below."""

    def above(self, bound: float) -> bool:
        return self.high > bound

    def below(self, bound: float) -> bool:
        return self.low < bound


def exactly(value: float) -> Estimate:
    """A number that has no sampling error, such as what arithmetic gives."""
    return Estimate(value, value, value)


def mean_of(values: Iterable[float]) -> Estimate:
    """The mean over seeds, with Student's interval. A single value is known to nothing: its interval is unbounded."""
    known = list(values)
    if not known:
        raise InputError("there is nothing to take the mean of", do="measure at least once")
    mean = math.fsum(known) / len(known)
    if len(known) == 1:
        return Estimate(mean, -math.inf, math.inf)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1))
    free = len(known) - 1
    half = (STUDENT[free - 1] if free <= len(STUDENT) else NORMAL) * spread / math.sqrt(len(known))
    return Estimate(mean, mean - half, mean + half)


def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """How much more the first are, seed by seed: what the seeds share falls out."""
    return mean_of([one - other for one, other in zip(first, second, strict=True)])


def ratio(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """How many times as much the first are, seed by seed; the interval is taken over logarithms."""
    logs = mean_of([math.log(one / other) for one, other in zip(first, second, strict=True)])
    return Estimate(math.exp(logs.value), math.exp(logs.low), math.exp(min(logs.high, 700.0)))


def share_of(count: int, total: int) -> Estimate:
    """How often something was so, from 0 to 1, with Wilson's interval, which holds near 0 and 1 too."""
    if not 0 <= count <= total or not total:
        raise InputError("a share needs cases", found=f"{count} of {total}", do="count at least one")
    part, squared = count / total, NORMAL**2
    centre = (part + squared / (2 * total)) / (1 + squared / total)
    half = NORMAL / (1 + squared / total) * math.sqrt(part * (1 - part) / total + squared / (4 * total**2))
    return Estimate(part, max(0.0, min(part, centre - half)), min(1.0, max(part, centre + half)))


def slope(points: Sequence[tuple[float, float]]) -> Estimate:
    """Of the straight line nearest to points, by least squares, with its interval."""
    if len(points) < 3:
        raise InputError("a slope with its interval needs 3 points", found=f"{len(points)}", do="measure more")
    count = len(points)
    middle_x, middle_y = (math.fsum(axis) / count for axis in zip(*points, strict=True))
    width = math.fsum((x - middle_x) ** 2 for x, _ in points)
    value = math.fsum((x - middle_x) * (y - middle_y) for x, y in points) / width
    left = math.fsum((y - middle_y - value * (x - middle_x)) ** 2 for x, y in points)
    free = count - 2
    half = (STUDENT[free - 1] if free <= len(STUDENT) else NORMAL) * math.sqrt(left / free / width)
    return Estimate(value, value - half, value + half)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's: 1 where both order things alike, 0 where they have nothing to do with each other."""
    ranks = [ranked(first), ranked(second)]
    centred = [[rank - (len(one) + 1) / 2 for rank in one] for one in ranks]
    norms = [math.sqrt(math.fsum(rank * rank for rank in one)) for one in centred]
    if not all(norms):
        return math.nan
    return math.fsum(a * b for a, b in zip(*centred, strict=True)) / (norms[0] * norms[1])


def ranked(values: Sequence[float]) -> list[float]:
    """From 1 on, the smallest first; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranks = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for place in range(first, last + 1):
            ranks[order[place]] = (first + last) / 2 + 1
        first = last + 1
    return ranks
