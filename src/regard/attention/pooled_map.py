"""The whole map in one pass, pooled to cells of some tokens, with what its rows and columns are beside it."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions, whole_number
from regard.attention.scores import NOWHERE, LogSum, Scores, block_shape, blocks
from regard.attention.second_pass import exact_scores, read_pass
from regard.attention.statistics import FLOOR
from regard.attention.threads import in_threads
from regard.attention.tiles import pool_block
from regard.errors import InputError


class PooledWeights(NamedTuple):
    """Of a map in cells of c x c weights, the last of a side smaller: (batch..., heads, cells down, cells across)."""

    mass: Tensor  # the sum of a cell's weights
    largest: Tensor
    apart: Tensor  # the largest, without the weights on a query's own position and on the first key
    entropy: Tensor  # (batch..., heads, queries), as in `Statistics`
    received: Tensor  # (batch..., heads, keys), as `received` gives it


@torch.no_grad()
def pool_map(
    query: Tensor, key: Tensor, lse: Tensor | None = None, *, cell: int, **score: Unpack[ScoreOptions]
) -> PooledWeights:
    """All that one wants of a map before looking closer: every weight is computed once, and none is kept.

    `lse` and everything else are as in `received`. Coarser cells follow from these: sums of sums, largest of largest.
    """
    if not whole_number(cell) or cell < 1:
        raise InputError("cell must be a whole number, at least 1", found=f"{cell!r}", do="32 suits 100,000 tokens")
    scores, sums = read_pass(query, key, lse, score)
    pooled = MapPass(exact_scores(scores), sums, cell).run()
    return PooledWeights(*(part.flatten(-4, -3) for part in pooled[:3]), *(part.flatten(-3, -2) for part in pooled[3:]))


class MapPass:
    """One pass over the blocks of a map: rows that share no cell go side by side."""

    def __init__(self, scores: Scores, sums: LogSum, cell: int) -> None:
        self.scores, self.sums, self.cell = scores, sums, cell
        sight, heads = scores.rule.sight, sums.top.shape[:-1]
        cells = -(-sight.queries // cell), -(-sight.keys // cell)
        self.mass, self.largest, self.apart = (sums.top.new_zeros(*heads, *cells) for _ in range(3))
        self.entropy = torch.zeros_like(sums.top)
        self.received = sums.top.new_zeros(*heads, sight.keys)

    def run(self) -> tuple[Tensor, ...]:
        high, wide = block_shape(self.scores)
        self.width = max(1, wide // self.cell) * self.cell
        rows = [*blocks(slice(0, self.scores.rule.sight.queries), max(1, high // self.cell) * self.cell)]
        for span, share in in_threads(self.pool_rows, rows[::-1], self.scores.device, self.scores.cells):
            self.received[..., span] += share
        self.add_sinks()
        return self.mass, self.largest, self.apart, self.entropy, self.received

    def pool_rows(self, rows: slice) -> tuple[slice, Tensor]:
        """Some whole rows of cells; gives what they give to the keys they may see."""
        visible = self.scores.rule.sight.span(rows)
        span = slice(visible.start // self.cell * self.cell, visible.stop)
        share = self.received.new_zeros(*self.received.shape[:-1], span.stop - span.start)
        for columns in blocks(span, self.width):
            weights = self.weigh(rows, columns)
            sums = pool_block(weights, self.cell, 1, "mass")
            share[..., columns.start - span.start : columns.stop - span.start] = sums.sum(-2)
            self.note(self.mass, rows, columns, pool_block(sums, 1, self.cell, "mass"))
            largest = self.largest_of(weights)
            self.note(self.largest, rows, columns, largest)
            self.note(self.apart, rows, columns, self.without_own(weights, rows, columns, largest))
        return span, share

    def weigh(self, rows: slice, columns: slice) -> Tensor:
        """The weights of a block, whose part of the entropy is added: the sum of -w log w, where log w = s - lse."""
        logs, visible = self.scores.block(rows, columns)
        top, rest = self.sums.top[..., rows, None], self.sums.rest[..., rows, None]
        logs.sub_(top.masked_fill(top == NOWHERE, 0.0)).sub_(rest)
        if visible is not None:
            logs.clamp_(min=FLOOR)  # 0 * -inf would be NaN
        weights = logs.exp()
        self.entropy[..., rows] -= logs.mul_(weights).sum(-1)
        return weights

    def largest_of(self, weights: Tensor) -> Tensor:
        return pool_block(pool_block(weights, self.cell, 1, "max"), 1, self.cell, "max")

    def without_own(self, weights: Tensor, rows: slice, columns: slice, largest: Tensor) -> Tensor:
        """The largest of each cell, but for the query's own position and the first key; most blocks have neither."""
        first = rows.start + self.scores.rule.sight.offset - columns.start  # where the first row's own position is
        own = torch.arange(first, first + rows.stop - rows.start, device=weights.device)
        inside = (own >= 0) & (own < columns.stop - columns.start)
        touches = first < columns.stop - columns.start and first + rows.stop - rows.start > 0
        if not touches and columns.start > 0:
            return largest
        weights[..., inside.nonzero()[:, 0], own[inside]] = 0.0
        if columns.start == 0:
            weights[..., 0] = 0.0
        return self.largest_of(weights)

    def note(self, whole: Tensor, rows: slice, columns: slice, cells: Tensor) -> None:
        row, column = rows.start // self.cell, columns.start // self.cell
        whole[..., row : row + cells.shape[-2], column : column + cells.shape[-1]] = cells

    def add_sinks(self) -> None:
        """A sink takes part in the entropy of its rows."""
        if self.scores.sinks_JG is not None:
            logs = (self.scores.sinks_JG[..., None].to(self.entropy.dtype) - self.sums.top - self.sums.rest).clamp(
                FLOOR
            )
            self.entropy -= logs.exp() * logs
