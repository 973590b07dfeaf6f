"""Axes: which numbers a plot spans, where its ticks stand, and how far along a value lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.claims.draw.words import number_words
from regard.claims.measurement import BarPlot, LinePlot
from regard.drawing.panels import spanning, tick_words


@dataclass(frozen=True)
class Scale:
    """One axis, straight or logarithmic: `ends` and `ticks` are values as measured."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along, from 0 to 1; what lies beyond is at the edge."""
        if self.logarithmic:
            value = math.log10(value) if value > 0 else math.log10(self.low)
            low, high = math.log10(self.low), math.log10(self.high)
        else:
            low, high = self.low, self.high
        return min(max((value - low) / (high - low), 0.0), 1.0)


def scale_of(values: Sequence[float], *, logarithmic: bool = False, zero: bool = False, exact: bool = False) -> Scale:
    """An axis for these values. `zero` is on it; `exact` ends it at the values instead of at round numbers."""
    known = [value for value in values if math.isfinite(value) and not (logarithmic and value <= 0)] or [1.0]
    if logarithmic:
        return logarithmic_scale(min(known), max(known), exact)
    low, high = min(known), max(known)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    span = spanning(low, high, whole=not exact)
    return Scale(span.low, span.high, tuple(zip(span.ticks, tick_words(span.ticks), strict=True)))


def logarithmic_scale(low: float, high: float, exact: bool) -> Scale:
    """Ticks at powers of ten, or at 1, 2, 5 of each where there are few."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    if first == last:
        first, last = first - 1, last + 1
    every = max(1, round((last - first) / 6))
    units = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [unit * 10.0**power for power in range(first, last + 1, every) for unit in units]
    ends = (low, high) if exact and high > low else (10.0**first, 10.0**last)
    inside = [tick for tick in ticks if ends[0] * (1 - 1e-9) <= tick <= ends[1] * (1 + 1e-9)]
    return Scale(*ends, tuple((tick, number_words(tick)) for tick in inside), logarithmic=True)


def across(plot: LinePlot) -> Scale:
    values = [x for series in plot.series for x, _ in series.points]
    return scale_of(values, logarithmic=plot.log_x, exact=True)


def up(plot: LinePlot) -> Scale:
    values = [end for series in plot.series for _, one in series.points for end in (one.value, one.low, one.high)]
    return scale_of(values, logarithmic=plot.log_y)


def along(plot: BarPlot) -> Scale:
    """The axis of bars begins at 0: their lengths are compared."""
    values = [end for _, one in plot.bars for end in (one.value, one.low, one.high)]
    return scale_of([*values, *([plot.mark[1]] if plot.mark else [])], zero=True)
