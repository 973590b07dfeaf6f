"""Numbers as people read them, and products written out: shared by every way of drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

TERMS = 6  # products written out before an ellipsis


def figure(number: float, digits: int = 4) -> str:
    """0.7071, 0.5, −2, −∞, with no more decimals than it needs; a dot for what is not known."""
    if not math.isfinite(number):
        return "·" if math.isnan(number) else "∞" if number > 0 else "−∞"
    return fixed(number, decimals(number, digits))


def column_figures(numbers: Sequence[float], digits: int = 4) -> list[str]:
    """A matrix's numbers in one format: all whole, or all with as many decimals."""
    finite = [number for number in numbers if math.isfinite(number)]
    needed = max((decimals(number, digits) for number in finite), default=0)
    return [fixed(number, needed) for number in numbers]


def decimals(number: float, most: int) -> int:
    """The fewest decimals, up to `most`, that show this number exactly."""
    return next((digits for digits in range(most) if abs(number - round(number, digits)) < 1e-9), most)


def fixed(number: float, digits: int) -> str:
    if not math.isfinite(number):
        return figure(number)
    text = f"{number:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def vector(numbers: Iterable[float]) -> str:
    shown = list(numbers)
    inner = "  ".join(figure(number) for number in shown[:TERMS])
    return f"[{inner}{'  …' if len(shown) > TERMS else ''}]"


def sum_of_products(factors: Sequence[tuple[float, float]]) -> str:
    """1×0 + 1×1, shortened when there are many."""
    shown = [f"{bracketed(left)}×{bracketed(right)}" for left, right in factors[:TERMS]]
    return " + ".join(shown + (["…"] if len(factors) > TERMS else []))


def bracketed(number: float) -> str:
    text = figure(number)
    return f"({text})" if text.startswith("−") else text
