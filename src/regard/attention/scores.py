"""The score of every cell, one block at a time, so that queries x keys never exists as a whole.

    s = scale * q.k;  s = softcap * tanh(s / softcap);  s = s + bias;  hidden cells are -inf

Everything that passes over the scores (the tiled forward and backward, received, tile) does so through `Scores`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.attention.masks import Sight, cut

NOWHERE = float("-inf")
LOW = -5e3  # so far down (masks of -1e9 or finfo.min) a float32 lse rounds away how many keys share a row
HALVES = (torch.float16, torch.bfloat16)


class LogSum(NamedTuple):
    """log sum exp(s) of each row, as its largest score and the rest, (B..., J, G, Q) each.

    Kept apart because their sum rounds the rest away when the largest score is as far down as finfo.min.
    """

    top: Tensor
    rest: Tensor

    @property
    def total(self) -> Tensor:
        return self.top + self.rest


@dataclass(frozen=True)
class ScoreRule:
    """What turns q.k into a score, apart from the tensors that can be trained."""

    scale: float
    softcap: float | None
    sight: Sight


@dataclass(frozen=True)
class Scores:
    """All that the scores are made from, query heads grouped by the key head that serves them."""

    rule: ScoreRule
    query_BJGQD: Tensor
    key_BJKD: Tensor
    terms: tuple[Tensor, ...] = ()  # bias and additive masks, rank (B..., J, G, Q, K), sizes 1 where they broadcast
    sinks_JG: Tensor | None = None

    @property
    def heads(self) -> int:
        """How many maps there are in all: batch x query heads."""
        return max(1, self.query_BJGQD.shape[:-2].numel())

    @property
    def cells(self) -> int:
        return self.query_BJGQD.shape[:-1].numel() * self.key_BJKD.shape[-2]

    @property
    def device(self) -> torch.device:
        return self.query_BJGQD.device

    @property
    def dtype(self) -> torch.dtype:
        """The widest of query's and key's."""
        return torch.promote_types(self.query_BJGQD.dtype, self.key_BJKD.dtype)

    @property
    def hides(self) -> bool:
        """May anything but the band hide a key?"""
        return bool(self.terms) or self.rule.sight.mask is not None

    def to(self, dtype: torch.dtype) -> Scores:
        """In another dtype, but for terms and sinks beside half-precision queries: those keep their own."""
        half = dtype in HALVES
        terms = self.terms if half else tuple(narrow(term, dtype) for term in self.terms)
        sinks = self.sinks_JG if half or self.sinks_JG is None else self.sinks_JG.to(dtype)
        return Scores(self.rule, self.query_BJGQD.to(dtype), self.key_BJKD.to(dtype), terms, sinks)

    def row_blocks(self) -> list[slice]:
        """Every row once; one empty block when there are none, so that results still get their shape."""
        return [*blocks(slice(0, self.rule.sight.queries), block_shape(self)[0])] or [slice(0, 0)]

    def column_blocks(self, rows: slice) -> Iterator[slice]:
        """The blocks of keys that these rows may see by their band."""
        yield from blocks(self.rule.sight.span(rows), block_shape(self)[1])

    def added(self, rows: slice, columns: slice) -> Tensor | None:
        """Bias and additive masks of a block, summed, broadcastable to it."""
        parts = [cut(term, rows, columns) for term in self.terms]
        if len(parts) < 2:
            return parts[0] if parts else None
        total, lowest = sum(parts[1:], start=parts[0]), torch.finfo(parts[0].dtype).min
        hidden = sum((part == NOWHERE for part in parts[1:]), start=parts[0] == NOWHERE)
        # Two finite numbers may sum to -inf, but only a true -inf hides a cell.
        return torch.where(hidden, NOWHERE, total.clamp(min=lowest))

    def visible(self, rows: slice, columns: slice) -> Tensor | None:
        """Where this block may look, broadcastable to it: False by band, by mask, or where -inf is added."""
        return both(self.rule.sight.block(rows, columns, self.device), self.shown(rows, columns))

    def shown(self, rows: slice, columns: slice) -> Tensor | None:
        """What the additive terms alone leave visible."""
        added = self.added(rows, columns)
        return None if added is None else added != NOWHERE

    def capped(self, rows: slice, columns: slice) -> Tensor:
        """scale * q.k, softcapped: the part of the score that q and k make."""
        query_BJGQD = self.query_BJGQD[..., rows, :] * self.rule.scale
        with full_precision(self.device):
            stacked = query_BJGQD.flatten(-3, -2) @ self.key_BJKD[..., columns, :].mT
        scaled = torch.unflatten(stacked, -2, query_BJGQD.shape[-3:-1])
        softcap = self.rule.softcap
        return scaled if softcap is None else (scaled / softcap).tanh_().mul_(softcap)

    def block(self, rows: slice, columns: slice) -> tuple[Tensor, Tensor | None]:
        """The final scores (..., J, G, rows, columns) of a block, -inf where hidden, and what is visible there."""
        scores, added = self.capped(rows, columns), self.added(rows, columns)
        visible = self.rule.sight.block(rows, columns, self.device)
        if added is not None:
            scores += added
            visible = both(visible, added != NOWHERE)
        return scores if visible is None else scores.masked_fill_(~visible, NOWHERE), visible

    def weights(self, rows: slice, columns: slice, lse: LogSum) -> Tensor:
        """The exact weights of a block: exp(s - lse); rows that look nowhere (lse -inf) are zeros."""
        top, rest = lse.top[..., rows, None], lse.rest[..., rows, None]
        scores, _ = self.block(rows, columns)
        return scores.sub_(top.masked_fill(top == NOWHERE, 0.0)).sub_(rest).exp_()


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Inside autocast too: a product rounded to bfloat16 would change every number shown."""
    autocast = torch.is_autocast_enabled(device.type)  # asked, for switching it off takes longer than a small product
    return torch.autocast(device.type, enabled=False) if autocast else nullcontext()


def narrow(term: Tensor, dtype: torch.dtype) -> Tensor:
    """A term in another dtype, where what was finite stays finite: only a true -inf hides a cell."""
    if term.dtype != torch.float64 or dtype == torch.float64:
        return term.to(dtype)
    limits = torch.finfo(dtype)
    return torch.where(term.isinf(), term, term.clamp(limits.min, limits.max)).to(dtype)


def both(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """What two masks show together; None shows everything."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def blocks(whole: slice, size: int) -> Iterator[slice]:
    for start in range(whole.start, whole.stop, size):
        yield slice(start, min(start + size, whole.stop))


def block_shape(scores: Scores) -> tuple[int, int]:
    """Rows and columns of a block: all heads of it together stay in a CPU's cache, or keep a GPU busy."""
    on_cpu = scores.device.type == "cpu"
    cells = max(256, (1 << 19 if on_cpu else 1 << 25) // scores.heads)
    square = 1 << (cells.bit_length() - 1) // 2
    rows = min(square, 256 if on_cpu else 2048)
    return rows, cells // rows
