"""A pooled map beside a recorded one: what a long text looks like from afar, without computing it again."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from regard.attention.pooled_map import pool_map
from regard.attention.tiles import Axis, Extent, Pool, pool_block

SMALLEST, SIDE = 8, 4096  # tokens of a cell at least, and cells of a side at most


@dataclass(frozen=True)
class PooledMap:
    """Cells of so many queries x keys of B texts and H heads, and what their rows and columns are."""

    cell: int
    mass: Tensor  # (B, H, cells down, cells across)
    largest: Tensor
    apart: Tensor  # the largest, without the weights on a query's own position and on the first key
    entropy: Tensor  # (B, H, Q)
    received: Tensor  # (B, H, K)

    def pick(self, texts: slice, heads: slice | list[int]) -> PooledMap:
        """The same of some texts and heads."""
        return PooledMap(self.cell, **{name: tensor[texts, heads] for name, tensor in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        """By their names."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "cell"}

    def serves(self, rows: Extent, columns: Extent, cell: Extent) -> bool:
        """Can this be answered from what is pooled? Its cells must be made of whole ones."""
        sides = ((rows, cell[0], self.entropy), (columns, cell[1], self.received))
        return all(
            size % self.cell == 0
            and start % self.cell == 0
            and (stop % self.cell == 0 or stop == whole.shape[-1])
            and start < stop
            for (start, stop), size, whole in sides
        )

    def tile(self, rows: Extent, columns: Extent, cell: Extent, pool: Pool) -> Tensor:
        """(B, H, height, width), as `regard.tile` would give it."""
        (top, bottom), (left, right) = (slice_of(side, self.cell) for side in (rows, columns))
        base = self.largest if pool == "max" else self.mass
        down, across = cell[0] // self.cell, cell[1] // self.cell
        pooled = pool_block(base[..., top:bottom, left:right], down, across, "max" if pool == "max" else "mass")
        if pool == "mean":
            high, wide = Axis.read("rows", rows, rows[1], cell[0]), Axis.read("columns", columns, columns[1], cell[1])
            pooled = pooled / (high.sizes(pooled)[:, None] * wide.sizes(pooled))
        return pooled


def slice_of(side: Extent, cell: int) -> Extent:
    return side[0] // cell, -(-side[1] // cell)


def cell_for(tokens: int) -> int:
    """A power of two that leaves some thousand cells to a side."""
    cell = SMALLEST
    while -(-tokens // cell) > SIDE:
        cell *= 2
    return cell


def pooled_map(query: Tensor, key: Tensor, lse: Tensor, cell: int | None, score: Any) -> PooledMap:
    """The map of these, pooled in one pass."""
    size = cell_for(max(query.shape[-2], key.shape[-2])) if cell is None else cell
    return PooledMap(size, *pool_map(query, key, lse, cell=size, **score))
