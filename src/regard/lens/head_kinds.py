"""What kind of head each is: a few numbers for every head, averaged over every row of every text, in O(N) memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import TextIO

import torch
from torch import Tensor

from regard.drawing.writing import write_csv
from regard.lens.draw.heads_table import Head, heads_html, heads_text
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.map import Map

GATHERED = 1 << 22  # numbers of queries and keys that are gathered at a time


MEASURES = tuple(measure.name for measure in fields(Head))[2:]


@dataclass(frozen=True, repr=False)
class Heads:
    """The table: `lines` holds every head; printed, or as the last line of a notebook's cell, it is a table."""

    lines: list[Head]

    def __str__(self) -> str:
        return heads_text(self.lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return heads_html(self.lines)

    def to_csv(self, path: str | Path | TextIO) -> None:
        """Write it with a header."""
        write_csv(path, [[field.name for field in fields(Head)], *map(astuple, self.lines)])


@dataclass
class Tally:
    """Sums over rows, to which one call after another is added."""

    sums: dict[tuple[str, int], dict[str, float]] = field(default_factory=dict)
    counts: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)

    def add(self, call: ForwardCall) -> None:
        for site, one in call.maps.items():
            for batch in range(len(one.query)):
                rows = call.counted(site, batch).nonzero()[:, 0]
                if len(rows):
                    self.add_text(call, site, batch, rows)

    def add_text(self, call: ForwardCall, site: str, batch: int, rows: Tensor) -> None:
        """The rows of one text that are words."""
        one = call.pick(site, None, batch)
        rows, statistics = rows.to(one.query.device), one.statistics()
        self.note(site, one, "entropy", statistics.entropy[0][:, rows])
        self.note(site, one, "top_weight", statistics.top_weight[0][:, rows])
        self.note(site, one, "first", statistics.first_weight[0][:, rows])
        if call.crosses(site):
            return
        self.note(site, one, "distance", statistics.distance[0][:, rows])
        self.note(site, one, "own", statistics.self_weight[0][:, rows])
        self.note(site, one, "previous", previous(one, rows))
        text = call.source if call.sides(site)[0] == "source" else call.text
        if text is not None and batch < len(text.ids) and len(text.ids[batch]) >= one.keys:
            self.note(site, one, "induction", induction(one, rows.cpu(), torch.tensor(text.ids[batch])))

    def note(self, site: str, one: Map, measure: str, found_HN: Tensor) -> None:
        for head, total in zip(one.heads, found_HN.double().sum(-1).tolist(), strict=True):
            sums = self.sums.setdefault((site, head), dict.fromkeys(MEASURES, 0.0))
            counts = self.counts.setdefault((site, head), dict.fromkeys(MEASURES, 0))
            sums[measure] += total
            counts[measure] += found_HN.shape[-1]

    def table(self) -> Heads:
        lines = []
        for (site, head), sums in self.sums.items():
            counts = self.counts[site, head]
            means = {name: sums[name] / counts[name] if counts[name] else math.nan for name in MEASURES}
            lines.append(Head(site, head, **means))
        return Heads(lines)


def previous(one: Map, rows: Tensor) -> Tensor:
    """The weight (H, n) of each row on the token before its own; the first token has none before it."""
    before = rows + one.terms.offset - 1
    there = (before >= 0) & (before < one.keys)
    return gathered(one, rows[there], before[there])


def induction(one: Map, rows: Tensor, ids_N: Tensor) -> Tensor:
    """For each row whose token stood earlier, the weight (H, n) on all tokens that came right after it there."""
    totals: list[Tensor] = []
    for queries, columns, counts in repeats(ids_N, rows + one.terms.offset, room(one)):
        weights = gathered(one, queries - one.terms.offset, columns)
        owner = torch.arange(len(counts)).repeat_interleave(counts).to(weights.device)
        totals.append(weights.new_zeros(len(weights), len(counts)).index_add_(1, owner, weights))
    return torch.cat(totals, 1) if totals else one.lse.new_zeros(len(one.heads), 0)


def repeats(ids_N: Tensor, positions: Tensor, room: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Some positions at a time: each with every place after an earlier occurrence of its token, and how many."""
    positions = positions[(positions >= 0) & (positions < len(ids_N))]
    order = ids_N.argsort(stable=True)
    place = order.argsort()  # where each position stands among those of its token
    starts = torch.searchsorted(ids_N[order].contiguous(), ids_N)
    earlier = (place - starts)[positions]
    positions, earlier = positions[earlier > 0], earlier[earlier > 0]
    batches = (earlier.cumsum(0) - earlier) // room
    for number in batches.unique():
        mine, counts = positions[batches == number], earlier[batches == number]
        within = torch.arange(int(counts.sum())) - (counts.cumsum(0) - counts).repeat_interleave(counts)
        columns = order[starts[mine].repeat_interleave(counts) + within] + 1
        yield mine.repeat_interleave(counts), columns, counts


def gathered(one: Map, rows: Tensor, columns: Tensor) -> Tensor:
    """The weights (H, n) of single cells, some at a time."""
    parts = [one.cells(r, c) for r, c in zip(rows.split(room(one)), columns.split(room(one)), strict=True)]
    return torch.cat(parts, 1)


def room(one: Map) -> int:
    """How many cells are gathered at a time."""
    return max(1, GATHERED // (len(one.heads) * one.query.shape[-1]))
