"""Any rectangle of the map, exactly, pooled to as few numbers as one wants to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from numbers import Integral
from typing import Any, Literal, Unpack

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.inputs import ScoreOptions, whole_number
from regard.attention.kernels.choose import by_kernel
from regard.attention.kernels.launches import tile_pooled
from regard.attention.kernels.operands import Side
from regard.attention.scores import LogSum, Scores, block_shape, blocks
from regard.attention.second_pass import exact_scores, read_pass, read_weigh
from regard.attention.threads import in_threads
from regard.errors import InputError, UnknownNameError

Pool = Literal["mass", "max", "mean"]
Extent = tuple[int, int]
Positions = int | slice | range | Sequence[int | None] | None  # of a side, as one may write them; None is all


@torch.no_grad()
def tile(
    query: Tensor,
    key: Tensor,
    lse: Tensor | None = None,
    *,
    rows: Positions = None,
    columns: Positions = None,
    cell: int | Extent = 1,
    pool: Pool = "mass",
    weigh: Tensor | None = None,
    **score: Unpack[ScoreOptions],
) -> Tensor:
    """The weights of some queries (`rows`) on some keys (`columns`), (batch..., heads, height, width).

    A side is a pair (start, stop), a slice or range of step 1, or one position, whose dim is dropped as NumPy does;
    negative positions count from the end, None is an open end. `cell` queries x keys (one number for both, or a pair)
    become one number: their weights' sum ("mass"), the largest ("max") or the mean; the last cells of a side may be
    smaller. `weigh`, broadcastable to (batch..., heads, keys), multiplies the weights on each key before they are
    pooled. Everything else is as in `received`.
    """
    if pool not in ("mass", "max", "mean"):
        raise UnknownNameError("pooling", str(pool), ("mass", "max", "mean"))
    scores, sums = read_pass(query, key, lse, score)
    high, wide = cell if isinstance(cell, (tuple, list)) and len(cell) == 2 else (cell, cell)
    down = Axis.read("rows", rows, query.shape[-2], high)
    across = Axis.read("columns", columns, key.shape[-2], wide)
    weigh_BJGK = read_weigh(weigh, "key", query, key.shape[-2], sums.top)
    sides = down.side, across.side
    pooled = by_kernel(scores, lambda: tile_pooled(scores, sums, *sides, pool, weigh_BJGK))
    pooled = pool_blocks(exact_scores(scores), sums, (down, across), pool, weigh_BJGK) if pooled is None else pooled
    if pool == "mean":
        pooled /= down.sizes(pooled)[:, None] * across.sizes(pooled)
    return pooled.flatten(-4, -3)[..., down.index, across.index]


def pool_blocks(
    scores: Scores, sums: LogSum, sides: tuple[Axis, Axis], pool: Pool, weigh_BJGK: Tensor | None
) -> Tensor:
    """The cells of a rectangle, summed or the largest of each, block by block."""
    down, across = sides
    pooled = sums.top.new_zeros(*sums.top.shape[:-1], down.bins, across.bins)
    height, width = block_shape(scores)

    def pool_rows(parts: list[tuple[slice, slice]]) -> None:
        for part, bins in parts:
            visible = scores.rule.sight.span(part)
            for section, boxes in across.parts(width):
                if section.start < visible.stop and section.stop > visible.start:
                    weights = scores.weights(part, section, sums)
                    weights = weights if weigh_BJGK is None else weights.mul_(weigh_BJGK[..., None, section])
                    merge(pooled[..., bins, boxes], pool_block(weights, down.cell, across.cell, pool), pool)

    # No two threads at one cell of the map: the parts of a cell larger than a block go together.
    jobs = [list(parts) for _, parts in groupby(down.parts(height), key=lambda part: part[1])]
    list(in_threads(pool_rows, jobs[::-1], scores.device, scores.heads * down.length * across.length))
    return pooled


@dataclass(frozen=True)
class Axis:
    """One side of the rectangle, cut into cells."""

    start: int
    stop: int
    cell: int
    single: bool = False  # one position, asked for by its number

    @classmethod
    def read(cls, name: str, positions: Positions, length: int, cell: Any = 1) -> Axis:
        """One side, checked: the only place that knows how its positions may be written."""
        start, stop = read_positions(positions, length)
        if not 0 <= start <= stop <= length:
            raise InputError(
                f"{name} must be (start, stop), a slice or range of step 1, or one position, within the map",
                found=f"{name}={positions!r}, of {length}",
                do=f"choose 0 <= start <= stop <= {length}, or a position from {-length} to {length - 1}; negative "
                "ones count from the end; leave it out for all",
            )
        if not whole_number(cell) or cell < 1:
            raise InputError(
                "cell must be a whole number, at least 1",
                found=f"{cell!r}",
                do="1 shows every weight; (a, b): queries, keys",
            )
        return cls(start, stop, cell, is_position(positions))

    @property
    def extent(self) -> Extent:
        return self.start, self.stop

    @property
    def length(self) -> int:
        return self.stop - self.start

    @property
    def index(self) -> int | slice:
        """What is left of this side in a tile: one position alone has no dim."""
        return 0 if self.single else slice(None)

    @property
    def side(self) -> Side:
        """The same in numbers, as a kernel takes them."""
        return Side(self.start, self.stop, self.cell, self.bins)

    @property
    def bins(self) -> int:
        return -(-self.length // self.cell)

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
        return edges.clamp(max=self.length).diff().to(like.dtype)


def is_position(thing: Any) -> bool:
    """One whole number, NumPy's too."""
    return isinstance(thing, Integral) and not isinstance(thing, bool)


def read_positions(positions: Any, length: int) -> Extent:
    """(start, stop) counted from 0; what cannot be read lies outside of every map."""
    if is_position(positions):
        start = int(positions) + (length if positions < 0 else 0)
        return start, start + 1
    if isinstance(positions, range):
        start = positions.start + (length if positions.start < 0 else 0)
        return (start, start + len(positions)) if positions.step == 1 else (-1, -1)
    if isinstance(positions, slice):
        positions = (positions.start, positions.stop) if positions.step in (None, 1) else ()
    pair = (None, None) if positions is None else positions
    ends = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(end is None or is_position(end) for end in pair)
    if not ends:
        return -1, -1
    start, stop = (
        default if end is None else int(end) + (length if end < 0 else 0)
        for end, default in zip(pair, (0, length), strict=True)
    )
    return start, stop


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
