"""The largest weights of a map, however large it is."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.scores import blocks
from regard.lens.recording.pooled import PooledMap
from regard.server.studio.map_questions import Extent, check_work, extent
from regard.server.studio.schema import StrongCell
from regard.server.studio.stored_look import StoredLook
from regard.server.studio.work_desk import StopSignal

BLOCK = 1 << 22  # weights that exist at a time
FEW = 1 << 24  # of which every one is looked at
Strong = list[tuple[float, int, int]]  # weights with minus row and minus column: of equals the first is larger


@dataclass(frozen=True)
class StrongestQuestion:
    """The largest weights of a rectangle; without the diagonal and the first key, unless all are asked for."""

    site: str
    head: int
    count: int
    rows: str
    columns: str
    all: bool

    def answer(self, look: StoredLook, stop: StopSignal) -> list[StrongCell]:
        look.check_site(self.site, self.head)
        high, wide = look.call.extent(self.site)
        rows, columns = extent("rows", self.rows, high), extent("columns", self.columns, wide)
        pooled = look.call.pick(self.site, self.head, 0).pooled
        if pooled is not None and (rows[1] - rows[0]) * (columns[1] - columns[0]) > FEW:
            best = self.from_pooled(look, pooled, (rows, columns), stop)
        else:
            check_work(look, self.site, self.head, (rows, columns))
            best = []
            for part in blocks(slice(*rows), max(1, BLOCK // (columns[1] - columns[0]))):
                stop.check()
                best = self.merged(look, part, columns, best)
        sides = look.sides(self.site)
        return [
            StrongCell(
                row=-row, column=-column, weight=weight,
                row_token=look.token(sides[0], -row), column_token=look.token(sides[1], -column),
            )
            for weight, row, column in sorted(best, reverse=True)
        ]  # fmt: skip

    def from_pooled(
        self, look: StoredLook, pooled: PooledMap, sides: tuple[Extent, Extent], stop: StopSignal
    ) -> Strong:
        """The best lie in the cells whose largest weights are largest: these are looked into, until no other can be."""
        whole = self.all or look.call.crosses(self.site)
        cells = (pooled.largest if whole else pooled.apart)[0, 0]
        best: Strong = []
        for largest, rows, columns in cells_by_size(cells, pooled, sides, self.count):
            if len(best) == self.count and best[-1][0] >= largest:
                break
            stop.check()
            best = self.merged(look, slice(*rows), columns, best)
        return best

    def merged(self, look: StoredLook, part: slice, columns: Extent, best: Strong) -> Strong:
        """The best so far, with those of some more rows; of equals the first cells."""
        weights = look.call.weights(self.site, self.head, part, columns).float().cpu()
        self.leave_out(look, weights, part.start, columns)
        top = weights.flatten().topk(min(self.count, weights.numel()))
        more = [
            (weight, -(part.start + place // weights.shape[1]), -(columns[0] + place % weights.shape[1]))
            for weight, place in zip(top.values.tolist(), top.indices.tolist(), strict=True)
            if weight > 0
        ]
        return heapq.nlargest(self.count, [*best, *more])

    def leave_out(self, look: StoredLook, weights: Tensor, first: int, columns: Extent) -> None:
        """Within one text, a token itself and the first key are strong nearly everywhere."""
        if self.all or look.call.crosses(self.site):
            return
        offset = look.call.map(self.site).terms.offset
        own = torch.arange(len(weights)) + first + offset - columns[0]
        inside = (own >= 0) & (own < weights.shape[1])
        weights[inside.nonzero()[:, 0], own[inside]] = 0.0
        if columns[0] == 0:
            weights[:, 0] = 0.0


def cells_by_size(
    cells: Tensor, pooled: PooledMap, sides: tuple[Extent, Extent], count: int
) -> Iterator[tuple[float, Extent, Extent]]:
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
