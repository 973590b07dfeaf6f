"""Estimates and cells as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.claims.estimates import Estimate
from regard.drawing.figures import figure


def number_words(value: float) -> str:
    """Three or four digits that matter, whatever the size: 0.0312, 4.21, 1,234, 2.1e-12."""
    if not math.isfinite(value) or value == 0:
        return figure(value)
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size > 6:
        return f"{value:.2g}".replace("-", "−").replace("e−0", "e−").replace("e+0", "e+")
    if value == int(value):
        return f"{int(value):,}".replace("-", "−")
    return f"{value:,.{max(0, 2 - size)}f}".replace("-", "−")


def estimate_words(one: Estimate) -> str:
    """With its interval, unless it is exact."""
    if one.exact:
        return number_words(one.value)
    if math.isinf(one.high):
        return f"{number_words(one.value)} (one run)"
    return f"{number_words(one.value)} ({number_words(one.low)} to {number_words(one.high)})"


def cell_words(cell: str | float | int | Estimate) -> str:
    if isinstance(cell, Estimate):
        return estimate_words(cell)
    return cell if isinstance(cell, str) else number_words(float(cell))


def undecided_words(possible: Sequence[str]) -> str:
    """Below "holds in part", where that is not the last word."""
    return f"Undecided: the intervals are wide, and more runs may show that it {' or '.join(possible)}."
