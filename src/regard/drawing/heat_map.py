"""A heat map before it is drawn: its cells, the names at their sides, and how strongly each is coloured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class HeatMap:
    """One map. A cell is a share, or where there were too many, what several rows and columns have together."""

    group: str  # maps of one group stand together
    label: str  # its name among them
    cells_RC: Tensor
    rows: list[str]
    columns: list[str]
    cell: tuple[int, int]  # rows x columns that one cell stands for

    @property
    def pooled(self) -> bool:
        return self.cell != (1, 1)

    @property
    def most(self) -> float:
        """The largest cell."""
        return float(self.cells_RC.max()) if self.cells_RC.numel() else 0.0

    @property
    def name(self) -> str:
        return f"{self.group}, {self.label}"


def largest(maps: Sequence[HeatMap]) -> float:
    """What the strongest colour stands for: the largest cell; of pooled ones, what all but 1 in 100 stay below.

    Where later tokens see more keys, the first rows have large cells only because they have few.
    """
    most = max((one.most for one in maps), default=0.0) or 1.0
    lit = [one.cells_RC[one.cells_RC > 0] for one in maps if one.pooled]
    if not lit or not sum(map(len, lit)):
        return most
    ranked = torch.cat(lit).sort().values
    return max(float(ranked[int(0.99 * (len(ranked) - 1))]), most / 64)


def topmost(maps: Sequence[HeatMap]) -> str:
    """The end of the scale, in words."""
    top = largest(maps)
    return f"{top:.3g} and more" if max((one.most for one in maps), default=0.0) > top * 1.005 else f"{top:.3g}"


def shares(heat: HeatMap, most: float) -> Tensor:
    """How strongly to colour each cell, 0 to 1."""
    return (heat.cells_RC / most).clamp(0.0, 1.0)
