"""One forward, or one generation, as it can be read: every site's map, and the texts that stand beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from regard.attention import Statistics, rollout
from regard.attention.tiles import Axis, Extent, Pool, Positions, is_position
from regard.errors import InputError, UnknownNameError
from regard.lens.recording.fidelity import Badge, together
from regard.lens.recording.map import By, Map
from regard.lens.recording.tokens import Row, Text, Token

CROSS = ("cross", "encoder_attn", "encdec", "enc_dec")  # how layers that look from one text at another are named
Side = Literal["source", "text"]
HeadNumbers = int | Sequence[int] | None  # one head, some, or all


@dataclass(frozen=True)
class ForwardCall:
    """What every head did with one batch of texts."""

    maps: dict[str, Map]  # by site, in the order they were called
    text: Text | None = None  # the one text there is, or what the decoder read
    source: Text | None = None  # what the encoder read, where there are two

    @property
    def sites(self) -> list[str]:
        """The names of the attention layers, in the order they were called."""
        return list(self.maps)

    @property
    def tokens(self) -> list[Token]:
        """Of the first text of the batch: the source, where there are two."""
        whole = self.text if self.source is None else self.source
        return [] if whole is None else whole.tokens()

    @property
    def target_tokens(self) -> list[Token]:
        """What the decoder read, where there are two texts."""
        return [] if self.source is None or self.text is None else self.text.tokens()

    @property
    def badge(self) -> Badge:
        """The truth about all sites together."""
        return together(one.badge for one in self.maps.values())

    def map(self, site: str) -> Map:
        """All that is kept of a site."""
        if site not in self.maps:
            raise UnknownNameError("site", site, self.maps)
        return self.maps[site]

    def sides(self, site: str) -> tuple[Side, Side]:
        """Which text the rows of a site belong to, and which the columns."""
        if self.source is None:
            return "text", "text"
        name = site.lower()
        if any(sign in name for sign in CROSS):
            return "text", "source"
        return ("text", "text") if "decoder" in name else ("source", "source")

    def crosses(self, site: str) -> bool:
        """Does it look from one text at another?"""
        rows, columns = self.sides(site)
        return rows != columns or any(sign in site.lower() for sign in CROSS)

    def writes(self, site: str) -> bool:
        """Does a row say what comes next? So it is in a decoder: it has read up to its token, and writes the next."""
        if self.source is not None:
            return self.sides(site)[0] == "text"
        return self.crosses(site) or self.map(site).terms.bound[1] == 0

    def labels(self, site: str, batch: int = 0, row: Row = "input") -> tuple[list[Token], list[Token]]:
        """The tokens beside the rows and above the columns; positions where the tokens are not known.

        Row i of a decoder belongs to two tokens: it has read the i-th ("input"), and it writes the one after it
        ("output"), as pictures and tables have it unless told otherwise. The weights are the same. Where nothing is
        written, as in an encoder, there is only the token itself.
        """
        rows, columns = self.extent(site, batch)
        sides = self.sides(site)
        written = row == "output" and self.writes(site)
        return self.named(sides[0], batch, rows, written=written), self.named(sides[1], batch, columns)

    def named(self, side: Side, batch: int, size: int, *, written: bool = False) -> list[Token]:
        text = self.source if side == "source" else self.text
        if text is None or batch >= len(text.ids) or len(text.ids[batch]) < size:
            return list(range(written, size + written))
        return (text.written(batch, self.end(batch)) if written else text.tokens(batch))[:size]

    def end(self, batch: int) -> int | None:
        """Where a text that is written ends, by the mask of the first site that looks at it from inside."""
        inside = (site for site in self.maps if self.sides(site) == ("text", "text") and not self.crosses(site))
        words = next((self.counted(site, batch).nonzero() for site in inside), None)
        return int(words[-1]) + 1 if words is not None and len(words) else None

    def extent(self, site: str, batch: int = 0) -> tuple[int, int]:
        """How many rows and columns one text of the batch has."""
        one = self.map(site)
        if not 0 <= batch < len(one.query):
            raise InputError(
                "there is no such text", found=f"batch={batch}, of {len(one.query)}", do="count from 0 in the batch"
            )
        rows = int((one.lse[batch, 0] != float("inf")).sum())
        last = one.terms.offset + rows
        return rows, min(one.keys, last) if one.terms.bound[1] == 0 and last > 0 else one.keys

    def pick(self, site: str, head: HeadNumbers, batch: int) -> Map:
        """The map of one head (its number in the model), of some, or of all, for one text."""
        one = self.map(site)
        self.extent(site, batch)
        if head is None:
            return one.pick(batch)
        numbers = [head] if is_position(head) else list(head) if isinstance(head, Iterable) else [head]
        absent = [number for number in numbers if not is_position(number) or number not in one.heads]
        if absent or not numbers:
            raise InputError(
                f"head {absent[0]} of {site} is not in this recording" if absent else "no head is asked for",
                found=f"heads {', '.join(map(str, one.heads))}",
                do="choose one of them, or a list; they count from 0; leave it out for all",
            )
        indices = [one.heads.index(number) for number in numbers]
        return one.pick(batch, indices[0] if is_position(head) else indices)

    def weights(
        self, site: str, head: HeadNumbers = None, rows: Positions = None, columns: Positions = None, batch: int = 0,
        *, by: By = "weight",
    ) -> Tensor:  # fmt: skip
        """The weights (heads, rows, columns), exact.

        head           a number, a list of them, or all by default
        rows, columns  (start, stop), a slice or range of step 1, or one position; -1 is the last; all by default
        by             "value": each weight times the norm of what it brings, |v W_O| of its key and head

        One head, one row or one column asked for by its number has no dim of its own, as in NumPy: `weights(site, 1)`
        is (rows, columns), `weights(site, 1, 3)` is (columns,).
        """
        return self.tile(site, head, rows, columns, batch=batch, by=by)

    def row(self, site: str, head: HeadNumbers, query: int, batch: int = 0, *, by: By = "weight") -> Tensor:
        """Where one query looked, (columns); with several heads, or None for all, (heads, columns)."""
        rows, _ = self.extent(site, batch)
        if not is_position(query) or not -rows <= query < rows:
            raise InputError(
                "there is no such row", found=f"{query!r}, of {rows}",
                do=f"choose 0 to {rows - 1}, or {-rows} to -1 from the end",
            )  # fmt: skip
        return self.weights(site, head, query, batch=batch, by=by)

    def tile(
        self, site: str, head: HeadNumbers = None, rows: Positions = None, columns: Positions = None,
        cell: int | Extent = 1, pool: Pool = "mass", batch: int = 0, *, by: By = "weight",
    ) -> Tensor:  # fmt: skip
        """A rectangle of the map, pooled as `regard.tile` does: (heads, height, width); all else as for `weights`."""
        one = self.pick(site, head, batch)
        high, wide = self.extent(site, batch)
        each = (cell[0], cell[1]) if isinstance(cell, (tuple, list)) else (cell, cell)
        down, across = Axis.read("rows", rows, high, each[0]), Axis.read("columns", columns, wide, each[1])
        tiles = one.tile(down.extent, across.extent, each, pool, by)[0, ..., down.index, across.index]
        return tiles[0] if is_position(head) else tiles

    def largest_norms(self, site: str, head: HeadNumbers = None, batch: int = 0) -> Tensor:
        """(heads): what a picture by "value" shows as 1: the largest norm of a value, each head's own."""
        return self.pick(site, head, batch).largest_norms(self.extent(site, batch)[1])[0]

    def with_pooled(self, sites: Sequence[str] | None = None, cell: int | None = None) -> ForwardCall:
        """The same with the whole maps of these sites (of all) in coarse cells beside them: see `Recording.pool`."""
        chosen = self.sites if sites is None else list(sites)
        pooled = {site: self.map(site).with_pooled(cell) for site in chosen}
        return replace(self, maps={**self.maps, **pooled})

    def statistics(self, site: str) -> Statistics:
        """What each row did, (batch, heads, rows) each."""
        return self.map(site).statistics()

    def received(self, site: str) -> Tensor:
        """How much attention each key got, (batch, heads, columns)."""
        return self.map(site).received()

    def rollout(self, token: int, batch: int = 0, *, sites: list[str] | None = None, residual: float = 0.5) -> Tensor:
        """How much of each token reaches `token` at the top, (tokens): of the encoder, where there are two texts."""
        side = "text" if self.source is None else "source"
        chosen = [site for site in self.maps if self.sides(site) == (side, side)] if sites is None else sites
        return rollout([self.pick(site, None, batch).layer(site) for site in chosen], token, residual=residual)[0]

    def counted(self, site: str, batch: int) -> Tensor:
        """Which rows of a text are words, (Q): not padding, and not beyond its end."""
        one = self.map(site).pick(batch)
        rows, _ = self.extent(site, batch)
        text = self.source if self.sides(site)[0] == "source" else self.text
        length = text.length(batch) if text is not None and batch < len(text.ids) else rows
        queries = torch.arange(one.queries)
        shown = (queries < min(rows, length)) & ~one.missing[0].all(0).cpu()
        mask, own = one.terms.mask, queries + one.terms.offset
        if mask is None or mask.dtype != torch.bool or mask.shape[2] != 1 or self.crosses(site):
            return shown
        inside = (own >= 0) & (own < one.keys)
        return shown & inside & mask[0].any(0)[0].cpu()[own.clamp(0, one.keys - 1)]
