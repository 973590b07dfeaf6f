"""Any rectangle of the map, exactly, pooled to as few numbers as one wants to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.inputs import ScoreOptions, whole_number
from regard.attention.scores import block_shape, blocks
from regard.attention.second_pass import read_pass
from regard.errors import InputError, UnknownNameError

Pool = Literal["mass", "max", "mean"]
Extent = tuple[int, int]


@torch.no_grad()
def tile(
    query: Tensor,
    key: Tensor,
    lse: Tensor | None = None,
    *,
    rows: Extent | None = None,
    columns: Extent | None = None,
    cell: int | Extent = 1,
    pool: Pool = "mass",
    **score: Unpack[ScoreOptions],
) -> Tensor:
    """The weights of queries rows[0]..rows[1]-1 on keys columns[0]..columns[1]-1, (batch..., heads, height, width).

    `cell` queries x keys (one number for both, or a pair) become one number: their weights' sum ("mass"), the largest
    ("max") or the mean; the last cells of a side may be smaller. Everything else is as in `received`.
    """
    if pool not in ("mass", "max", "mean"):
        raise UnknownNameError("pooling", str(pool), ("mass", "max", "mean"))
    scores, sums = read_pass(query, key, lse, score)
    high, wide = cell if isinstance(cell, (tuple, list)) and len(cell) == 2 else (cell, cell)
    down = Axis.read("rows", rows, query.shape[-2], high)
    across = Axis.read("columns", columns, key.shape[-2], wide)
    pooled = sums.top.new_zeros(*sums.top.shape[:-1], down.bins, across.bins)
    height, width = block_shape(scores)
    for part, bins in down.parts(height):
        visible = scores.rule.sight.span(part)
        for section, boxes in across.parts(width):
            if section.start < visible.stop and section.stop > visible.start:
                weights = scores.weights(part, section, sums)
                merge(pooled[..., bins, boxes], pool_block(weights, down.cell, across.cell, pool), pool)
    if pool == "mean":
        pooled /= down.sizes(pooled)[:, None] * across.sizes(pooled)
    return pooled.flatten(-4, -3)


@dataclass(frozen=True)
class Axis:
    """One side of the rectangle, cut into cells."""

    start: int
    stop: int
    cell: int

    @classmethod
    def read(cls, name: str, extent: Any, length: int, cell: Any) -> Axis:
        """One side, checked."""
        pair = isinstance(extent, (tuple, list)) and len(extent) == 2 and all(map(whole_number, extent))
        start, stop = (0, length) if extent is None else extent if pair else (-1, -1)
        if not 0 <= start <= stop <= length:
            raise InputError(
                f"{name} must be (start, stop) within the map",
                found=f"{name}={extent!r}, of {length}",
                do=f"choose 0 <= start <= stop <= {length}; leave it out for all",
            )
        if not whole_number(cell) or cell < 1:
            raise InputError(
                "cell must be a whole number, at least 1",
                found=f"{cell!r}",
                do="1 shows every weight; (a, b): queries, keys",
            )
        return cls(start, stop, cell)

    @property
    def bins(self) -> int:
        return -(-(self.stop - self.start) // self.cell)

    def parts(self, limit: int) -> Iterator[tuple[slice, slice]]:
        """(positions, bins) in turn: as many whole cells as the limit holds, or a part of one larger cell."""
        whole = max(1, limit // self.cell) * self.cell
        for cells in blocks(slice(self.start, self.stop), whole):
            first, last = (cells.start - self.start) // self.cell, (cells.stop - 1 - self.start) // self.cell
            for piece in blocks(cells, limit):
                yield piece, slice(first, last + 1)

    def sizes(self, like: Tensor) -> Tensor:
        """How many positions each cell really has."""
        edges = torch.arange(self.bins + 1, device=like.device) * self.cell
        return edges.clamp(max=self.stop - self.start).diff().to(like.dtype)


def pool_block(weights: Tensor, down: int, across: int, pool: Pool) -> Tensor:
    """(..., r, c) -> (..., cells down, cells across); what sticks out is filled with weights of 0."""
    if down == across == 1:
        return weights
    height, width = weights.shape[-2:]
    down, across = min(down, height), min(across, width)
    padded = F.pad(weights, (0, -width % across, 0, -height % down))
    boxes = torch.unflatten(padded, -1, (-1, across))
    boxes = torch.unflatten(boxes, -3, (-1, down))  # (..., cells down, down, cells across, across)
    return boxes.amax((-3, -1)) if pool == "max" else boxes.sum((-3, -1))


def merge(pooled: Tensor, block: Tensor, pool: Pool) -> None:
    torch.maximum(pooled, block, out=pooled) if pool == "max" else pooled.add_(block)
