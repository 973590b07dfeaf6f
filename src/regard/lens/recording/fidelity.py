"""The truth badge: what a picture or file is made from, and how far it is from what the model really did.

While the values are at hand, some rows are made again from what is kept: their weights times the values must be the
output that the model went on with. A wrong mask, scale or position shows there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from torch import Tensor

from regard.attention import tile
from regard.attention.inputs import ScoreOptions

SAMPLED = 8  # rows of each attention call that are compared
EXACT = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}  # differences that rounding explains


@dataclass(frozen=True)
class Badge:
    """What is known about the truth of some weights."""

    implementation: str = ""
    dtype: str = ""
    mask: str = "none"
    pooling: str = "none"
    sinks: bool = False  # a sink takes part of each row: what is shown sums to less than 1
    dropout: bool = False  # the model went on with other weights than these
    rows: int = 0  # compared
    row_sum: float = 0.0  # the largest distance of a sampled row's sum from 1; with sinks, how far above 1
    difference: float = 0.0  # the largest, between weights times values and the output the model used
    size: float = 0.0  # the largest number of that output

    @property
    def sums_to_one(self) -> bool:
        """Do the weights of each row sum to 1?"""
        return not self.sinks and self.row_sum <= self.tolerance

    @property
    def true(self) -> bool:
        """Is every difference as small as rounding makes it?"""
        return self.difference <= self.tolerance * max(1.0, self.size) and self.row_sum <= self.tolerance

    @property
    def compared(self) -> bool:
        """Was anything measured? If not, nothing is known to be true, or untrue."""
        return bool(self.rows) and not self.dropout

    @property
    def tolerance(self) -> float:
        return max((EXACT.get(name, EXACT["float32"]) for name in self.dtype.split(" and ")), default=EXACT["float32"])

    def pooled(self, how: str) -> Badge:
        return replace(self, pooling=how)

    def to_dict(self) -> dict[str, Any]:
        """For files: JSON has no infinity."""
        return {name: None if value != value or value in (math.inf, -math.inf) else value
                for name, value in asdict(self).items()}  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Badge:
        filled: dict[str, Any] = {name: math.inf if value is None else value for name, value in data.items()}
        return cls(**filled)

    def __str__(self) -> str:
        rows = "rows sum to 1" if self.sums_to_one else "a sink takes part of each row" if self.sinks else (
            f"rows sum to 1 within {self.row_sum:.1g}")  # fmt: skip
        told = f"largest difference from the model's output {self.difference:.1g} on {counted(self.rows)}"
        told = "not compared: dropout was on" if self.dropout else told if self.rows else "no row was compared"
        return f"{self.implementation}, {self.dtype}, mask: {self.mask}, pooling: {self.pooling}, {rows}, {told}"


def counted(rows: int) -> str:
    return f"{rows} row{'s' * (rows != 1)}"


def together(badges: Iterable[Badge]) -> Badge:
    """One badge for several: all that was met, and the worst of each measure."""
    all_of = list(badges)

    def met(name: str) -> str:
        return " and ".join(dict.fromkeys(getattr(badge, name) for badge in all_of))

    def worst(name: str) -> float:
        numbers = [getattr(badge, name) for badge in all_of]
        return math.inf if any(number != number for number in numbers) else max(numbers, default=0.0)

    return Badge(
        met("implementation"), met("dtype"), met("mask"), met("pooling"),
        any(badge.sinks for badge in all_of), any(badge.dropout for badge in all_of),
        sum(badge.rows for badge in all_of), worst("row_sum"), worst("difference"), worst("size"),
    )  # fmt: skip


def sampled(rows: int) -> list[int]:
    """Some rows from first to last."""
    return sorted({round(i * (rows - 1) / (SAMPLED - 1)) for i in range(SAMPLED)}) if rows else []


def measure(query: Tensor, key: Tensor, lse: Tensor, options: ScoreOptions, value: Tensor, output: Tensor) -> Badge:
    """The differences found on one row: query (B, H, 1, D), output (B, H, 1, V)."""
    weights = tile(query, key, lse, **options)[..., 0, :]  # (B, H, K)
    by_group = weights.unflatten(1, (key.shape[1], -1))
    mixed = (by_group @ value.to(weights.dtype)).flatten(1, 2)
    lit = ~lse[..., 0].isinf()
    if not bool(lit.any()):
        return Badge()
    real = output[..., 0, :].to(weights.dtype)[lit]
    sums = weights.sum(-1)[lit]
    off = (sums - 1.0).clamp(min=0.0) if options.get("sinks") is not None else (sums - 1.0).abs()
    difference = (mixed[lit] - real).abs()
    return Badge(rows=1, row_sum=off.max().item(), difference=difference.max().item(), size=real.abs().max().item())
