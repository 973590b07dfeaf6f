"""The map of one site: queries, keys and lse, from which any weight, row, tile or statistic is made again, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

import torch
from torch import Tensor

from regard.attention import Layer, Statistics, attend, received, tile
from regard.attention.inputs import ScoreOptions
from regard.attention.tiles import Extent, Pool
from regard.errors import InputError, UnknownNameError
from regard.lens.recording.fidelity import Badge
from regard.lens.recording.pooled import PooledMap, pooled_map
from regard.lens.recording.score_terms import LARGEST, Terms, bounded

By = Literal["weight", "value"]  # a weight alone, or times the norm of what it brings
MEASURES: tuple[By, ...] = ("weight", "value")


@dataclass(frozen=True)
class Map:
    """Attention of B texts, H heads, Q queries and K keys; `w = exp(score(q, k) - lse)`."""

    query: Tensor  # (B, H, Q, D)
    key: Tensor  # (B, J, K, D)
    lse: Tensor  # (B, H, Q); -inf for a row that looks nowhere, inf for one that a shorter text does not have
    terms: Terms
    heads: tuple[int, ...]  # the model's numbers of the H heads
    norms: Tensor | None = None  # (B, H, K), of each value through W_O: what one whole weight on it brings
    projected: bool = True  # were they through W_O, or of the values alone?
    badge: Badge = field(default_factory=Badge)
    pooled: PooledMap | None = None  # the whole map in coarse cells, where it was kept

    @property
    def queries(self) -> int:
        return self.query.shape[-2]

    @property
    def keys(self) -> int:
        return self.key.shape[-2]

    @property
    def group(self) -> int:
        """How many query heads one key head serves."""
        return self.query.shape[1] // self.key.shape[1]

    def pick(self, batch: int | None = None, head: int | Sequence[int] | None = None) -> Map:
        """The same for one text, one head (its place among those kept), or both: views, nothing is copied.

        Several heads are copies, each with the keys that serve it.
        """
        texts = slice(None) if batch is None else slice(batch, batch + 1)
        mine: slice | list[int]
        theirs: slice | list[int]
        if head is None:
            heads, mine, theirs = list(range(len(self.heads))), slice(None), slice(None)
        elif isinstance(head, int):
            heads, mine = [head], slice(head, head + 1)
            theirs = slice(head // self.group, head // self.group + 1)
        else:
            heads, mine, theirs = list(head), list(head), [place // self.group for place in head]
        return replace(
            self,
            query=self.query[texts, mine], key=self.key[texts, theirs], lse=self.lse[texts, mine],
            terms=self.terms.pick(texts, heads), heads=tuple(self.heads[place] for place in heads),
            norms=None if self.norms is None else self.norms[texts, mine],
            pooled=None if self.pooled is None else self.pooled.pick(texts, mine),
        )  # fmt: skip

    def options(self, rows: slice, columns: slice) -> ScoreOptions:
        return self.terms.options(rows, columns, self.queries)

    def blocks(self, rows: slice, cell: int = 1) -> Iterator[slice]:
        """Rows to work on at a time."""
        return self.terms.blocks(rows, self.keys, cell)

    def whole(self) -> tuple[slice, slice]:
        return slice(0, self.queries), slice(0, self.keys)

    def tile(self, rows: Extent | None = None, columns: Extent | None = None, cell: Extent = (1, 1),
             pool: Pool = "mass", by: By = "weight") -> Tensor:  # fmt: skip
        """(B, H, height, width), as `regard.tile` pools it; by "value", of each weight times the norm of its value."""
        down = slice(*(rows or (0, self.queries)))
        across = slice(*(columns or (0, self.keys)))
        norms = self.norms_by(by)
        if self.pooled is not None and norms is None and self.pooled.serves(*extents(down, across), cell):
            return self.pooled.tile(*extents(down, across), cell, pool)
        parts = [
            tile(
                self.query[..., part, :], self.key[..., across, :], self.lse[..., part],
                cell=cell, pool=pool, weigh=None if norms is None else norms[..., across], **self.options(part, across),
            )
            for part in self.blocks(down, cell[0])
        ]  # fmt: skip
        return torch.cat(parts, -2)

    def norms_by(self, by: By) -> Tensor | None:
        """What each weight is multiplied by, (B, H, K): nothing, or the norms of the values, which must be known."""
        if by not in MEASURES:
            raise UnknownNameError("measure", str(by), MEASURES)
        if by == "weight":
            return None
        if self.norms is None:
            raise InputError(
                "the values were not kept",
                found='by="value" needs their norms',
                do="record with watch(model, values=True), which is the default",
            )
        return self.norms

    def largest_norms(self, keys: int) -> Tensor:
        """(B, H): the largest norm of each head among so many keys, those that padding hides left out; never 0."""
        norms, mask = self.norms_by("value"), self.terms.mask
        assert norms is not None
        shown = norms[..., :keys].nan_to_num(0.0, 0.0, 0.0)
        if mask is not None and mask.dtype == torch.bool and mask.shape[2] == 1:
            shown = shown.masked_fill(~mask[:, :, 0, :keys], 0.0)
        largest = shown.amax(-1)
        return largest.masked_fill(largest == 0, 1.0)

    @property
    def norm_symbol(self) -> str:
        """What the norms are of, in letters."""
        return "|v W_O|" if self.projected else "|v|"

    def statistics(self) -> Statistics:
        """What each row did, (B, H, Q) each; rows that are not there are as rows that look nowhere."""
        rows, columns = self.whole()
        nothing = self.query.new_zeros(()).expand(*self.key.shape[:-1], 1)
        by_block = [
            attend(self.query[..., part, :], self.key, nothing, see="stats", **self.options(part, columns))[1]
            for part in self.blocks(rows)
        ]
        names = [field.name for field in fields(Statistics)]
        joined = {name: torch.cat([getattr(block, name) for block in by_block], -1) for name in names}
        missing = self.missing
        if bool(missing.any()):
            blank = {"lse": float("-inf"), "top_key": -1}
            joined = {name: value.masked_fill(missing, blank.get(name, 0)) for name, value in joined.items()}
        return Statistics(**joined)

    def with_pooled(self, cell: int | None = None) -> Map:
        """The same with its whole map in coarse cells beside it: one pass over all weights, and none is kept.

        A bias that has to be laid out for every cell is computed some rows at a time, and is not pooled.
        """
        if self.terms.diagonals is not None:
            raise InputError(
                "a map with a bias of distances is not pooled", found="diagonals", do="leave this site out"
            )
        rows, columns = self.whole()
        return replace(self, pooled=pooled_map(self.query, self.key, self.lse, cell, self.options(rows, columns)))

    @property
    def missing(self) -> Tensor:
        """Rows that look nowhere, or that a shorter text does not have, (B, H, Q)."""
        return self.lse.isinf()

    def received(self, weigh: Tensor | None = None) -> Tensor:
        """(B, H, K): the sum over queries of their weights; `weigh` broadcasts to (B, H, Q)."""
        rows, columns = self.whole()
        given = None if weigh is None else weigh.expand(self.query.shape[:-1])
        return torch.stack([
            received(
                self.query[..., part, :], self.key, self.lse[..., part],
                weigh=None if given is None else given[..., part], **self.options(part, columns),
            )
            for part in self.blocks(rows)
        ]).sum(0)  # fmt: skip

    def layer(self, site: str) -> Layer:
        """As `regard.rollout` takes it."""
        rows, columns = self.whole()
        if self.terms.diagonals is not None and len(self.terms.diagonals) * self.queries * self.keys > LARGEST:
            bounded(site, "bias", self.query.new_zeros(()).expand(len(self.heads), self.queries, self.keys))
        return {"query": self.query, "key": self.key, "lse": self.lse, **self.options(rows, columns)}

    def cells(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The weights (H, n) of single cells of one text: query rows[i] on key columns[i], and nothing else."""
        assert len(self.query) == 1, "cells are asked for text by text"
        n, heads = len(rows), len(self.heads)
        rows, columns = rows.to(self.query.device), columns.to(self.query.device)
        query, key = self.query[0, :, rows].transpose(0, 1)[:, :, None], self.key[0, :, columns].transpose(0, 1)
        lse = self.lse[0, :, rows].T[..., None]
        shown, added = self.terms.at(rows, columns, self.queries)
        weights = tile(
            query, key[:, :, None], lse, mask=None if shown is None else shown.T[..., None, None],
            bias=None if added is None else added.expand(heads, n).T[..., None, None],
            scale=self.terms.scale, softcap=self.terms.softcap, sinks=self.terms.sinks,
        )  # fmt: skip
        return weights[..., 0, 0].T


def extents(down: slice, across: slice) -> tuple[Extent, Extent]:
    return (down.start, down.stop), (across.start, across.stop)
