"""Which keys a query may look at. True means *may look*, everywhere.

    causal          window=(1, 0)     window=(0, 1)     a mask of rank 1 (keys: the last two are padding)
    1 0 0 0         1 0 0 0           1 1 0 0           1 1 0 0
    1 1 0 0         1 1 0 0           0 1 1 0           1 1 0 0
    1 1 1 0         0 1 1 0           0 0 1 1           1 1 0 0
    1 1 1 1         0 0 1 1           0 0 0 1           1 1 0 0

Query i stands at position `i + offset` among the keys. With three queries after a cache of two keys the offset is 2,
and causal reads

    1 1 1 0 0
    1 1 1 1 0
    1 1 1 1 1
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

Window = tuple[int | None, int | None]


@dataclass(frozen=True)
class Sight:
    """A band around each query's own position, and a boolean mask over it. `left` or `right` None: no bound there."""

    queries: int
    keys: int
    offset: int
    left: int | None = None
    right: int | None = None
    mask: Tensor | None = None  # boolean, rank (B..., J, G, Q, K), sizes 1 where it broadcasts

    @classmethod
    def over(cls, queries: int, keys: int, offset: int, window: Window, mask: Tensor | None = None) -> Sight:
        """The same, with a bound that hides nothing left out."""
        left, right = window
        if left is not None and offset + queries - 1 - left <= 0:
            left = None
        if right is not None and offset + right >= keys - 1:
            right = None
        return cls(queries, keys, offset, left, right, mask)

    @property
    def banded(self) -> bool:
        """Does the band hide anything?"""
        return self.left is not None or self.right is not None

    @property
    def causal_square(self) -> bool:
        """Is the band the plain lower triangle of a square?"""
        return self.left is None and self.right == 0 and self.offset == 0 and self.queries == self.keys

    def span(self, rows: slice) -> slice:
        """The keys that some row of a block may see by its band; everything outside need not be computed."""
        lowest = 0 if self.left is None else rows.start + self.offset - self.left
        beyond = self.keys if self.right is None else rows.stop - 1 + self.offset + self.right + 1
        start = min(max(lowest, 0), self.keys)
        return slice(start, max(start, min(beyond, self.keys)))

    def band(self, rows: slice, columns: slice, device: torch.device) -> Tensor | None:
        """The band over one block, as a (rows, columns) grid; None where the whole block is visible."""
        lead = self.offset + rows.start - columns.start  # the first row's own position, counted from the first column
        height, width = rows.stop - rows.start, columns.stop - columns.start
        below = self.right is None or lead + self.right >= width - 1
        above = self.left is None or lead + height - 1 - self.left <= 0
        if below and above:
            return None
        grid = torch.ones(height, width, dtype=torch.bool, device=device)
        if not below and self.right is not None:
            grid = grid.tril(lead + self.right)
        if not above and self.left is not None:
            grid = grid.triu(lead - self.left)
        return grid

    def block(self, rows: slice, columns: slice, device: torch.device) -> Tensor | None:
        """What one block may see: band and mask together, broadcastable to the block; None: all of it."""
        band = self.band(rows, columns, device)
        if self.mask is None:
            return band
        mask = cut(self.mask, rows, columns)
        return mask if band is None else mask & band


def cut(term: Tensor, rows: slice, columns: slice) -> Tensor:
    """The part of a broadcastable (..., Q, K) tensor that belongs to a block."""
    rows = rows if term.shape[-2] != 1 else slice(None)
    columns = columns if term.shape[-1] != 1 else slice(None)
    return term[..., rows, columns]
