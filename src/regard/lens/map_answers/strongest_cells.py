"""The largest weights of a map, however large it is."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.scores import blocks
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.pooled import PooledMap

BLOCK = 1 << 22  # weights that exist at a time
FEW = 1 << 24  # of which every one is looked at
Extent = tuple[int, int]
Sides = tuple[Extent, Extent]
Cells = list[tuple[float, int, int]]  # weights with minus row and minus column: of equals the first is larger


def nothing() -> None:
    """Nobody waits, so nobody leaves."""


@dataclass(frozen=True)
class StrongestCells:
    """Of one head; without the diagonal and the first key, which are strong nearly everywhere, unless `whole`."""

    call: ForwardCall
    site: str
    head: int
    count: int
    whole: bool = False
    batch: int = 0

    def from_pooled(self, rows: Extent, columns: Extent) -> bool:
        """Can they be found without looking at every weight?"""
        large = (rows[1] - rows[0]) * (columns[1] - columns[0]) > FEW
        return large and self.call.map(self.site).pooled is not None

    def within(
        self, rows: Extent, columns: Extent, check: Callable[[], None] = nothing
    ) -> list[tuple[int, int, float]]:
        """(row, column, weight), the largest first; `check` is called now and then, and may raise."""
        if self.from_pooled(rows, columns):
            best = self.by_cells((rows, columns), check)
        else:
            best = []
            for part in blocks(slice(*rows), max(1, BLOCK // (columns[1] - columns[0]))):
                check()
                best = self.merged(part, columns, best)
        return [(-row, -column, weight) for weight, row, column in sorted(best, reverse=True)]

    def by_cells(self, sides: Sides, check: Callable[[], None]) -> Cells:
        """The best lie in the cells whose largest weights are largest: these are looked into, until no other can be."""
        pooled = self.call.pick(self.site, self.head, self.batch).pooled
        assert pooled is not None
        everything = self.whole or self.call.crosses(self.site)
        cells = (pooled.largest if everything else pooled.apart)[0, 0]
        best: Cells = []
        for largest, rows, columns in cells_by_size(cells, pooled, sides, self.count):
            if len(best) == self.count and best[-1][0] >= largest:
                break
            check()
            best = self.merged(slice(*rows), columns, best)
        return best

    def merged(self, part: slice, columns: Extent, best: Cells) -> Cells:
        """The best so far, with those of some more rows; of equals the first cells."""
        weights = self.call.weights(self.site, self.head, part, columns, self.batch).float().cpu()
        self.leave_out(weights, part.start, columns)
        top = weights.flatten().topk(min(self.count, weights.numel()))
        more = [
            (weight, -(part.start + place // weights.shape[1]), -(columns[0] + place % weights.shape[1]))
            for weight, place in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            if weight > 0
        ]
        return heapq.nlargest(self.count, [*best, *more])

    def leave_out(self, weights: Tensor, first: int, columns: Extent) -> None:
        """Within one text, a token itself and the first key."""
        if self.whole or self.call.crosses(self.site):
            return
        offset = self.call.map(self.site).terms.offset
        own = torch.arange(len(weights)) + first + offset - columns[0]
        inside = (own >= 0) & (own < weights.shape[1])
        weights[inside.nonzero()[:, 0], own[inside]] = 0.0
        if columns[0] == 0:
            weights[:, 0] = 0.0


def cells_by_size(cells: Tensor, pooled: PooledMap, sides: Sides, count: int) -> Iterator[tuple[float, Extent, Extent]]:
    """Cells that lie in a rectangle, at least in part, the one with the largest weight first; cut to the rectangle.

    The best `count` weights lie in as many cells, or where cells are cut, behind at most those along its edges.
    """
    (top, bottom), (left, right) = ((start // pooled.cell, -(-stop // pooled.cell)) for start, stop in sides)
    inside = cells[top:bottom, left:right]
    best = inside.flatten().topk(min(count + 2 * sum(inside.shape), inside.numel()))
    for value, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        row, column = divmod(place, inside.shape[1])
        rows, columns = (
            (max((first + at) * pooled.cell, side[0]), min((first + at + 1) * pooled.cell, side[1]))
            for first, at, side in zip((top, left), (row, column), sides, strict=True)
        )
        yield value, rows, columns
