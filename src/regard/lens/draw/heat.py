"""What a heat map shows, for every way of drawing: the cells of a head, pooled where there are too many, and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import torch

from regard.attention.tiles import Axis, Extent, Positions
from regard.drawing.heat_labels import grouped, label
from regard.drawing.heat_map import HeatMap
from regard.lens.recording.fidelity import Badge, together
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.map import By
from regard.lens.recording.tokens import Row


class MapOptions(TypedDict, total=False):
    """Which tokens, which text of the batch, which token is named beside a decoder's row, and what a cell is."""

    rows: Positions
    columns: Positions
    batch: int
    row: Row
    by: By


@dataclass(frozen=True)
class View:
    """Which part of a call: everything is shown of what is left out."""

    site: str | None = None
    head: int | None = None
    rows: Positions = None
    columns: Positions = None
    batch: int = 0
    row: Row = "output"  # a decoder's row is that of the token it writes; "input": of the one it read
    by: By = "weight"  # "value": times the norm of what it brings, as a share of the largest norm


@dataclass(frozen=True)
class HeadMap(HeatMap):
    """One head's map. A cell is a weight; pooled, the share of a row's attention that its keys get, on average.

    By "value", each weight is first multiplied by its value's norm and divided by the largest.
    """

    head: int
    badge: Badge
    norm: str = ""  # by "value": what it is the norm of
    largest: float = 1.0  # and the largest of them

    @property
    def site(self) -> str:
        return self.group


def heats(call: ForwardCall, view: View, most: Extent) -> list[HeadMap]:
    """The maps of a site, of one head or of all, in at most so many cells down and across."""
    assert view.site is not None
    high, wide = call.extent(view.site, view.batch)
    down, across = Axis.read("rows", view.rows, high), Axis.read("columns", view.columns, wide)
    cell = cell_for(call, view.site, (down.stop - down.start, across.stop - across.start), most)
    one = call.map(view.site)
    numbers = one.heads if view.head is None else (view.head,)
    tiles = call.tile(view.site, view.head, down.extent, across.extent, cell, "mass", view.batch, by=view.by)
    cells_HRC = (tiles if view.head is None else tiles[None]).float().cpu().nan_to_num(0.0)
    cells_HRC /= Axis(down.start, down.stop, cell[0]).sizes(cells_HRC)[:, None]
    largest = [1.0] * len(numbers)
    if view.by == "value":
        norms_H = call.largest_norms(view.site, view.head, view.batch).float().cpu()
        cells_HRC, largest = cells_HRC / norms_H[:, None, None], norms_H.tolist()
    names = [[label(token) for token in side] for side in call.labels(view.site, view.batch, view.row)]
    beside = grouped(names[0][down.start : down.stop], cell[0], down.start)
    above = grouped(names[1][across.start : across.stop], cell[1], across.start)
    badge = one.badge if cell == (1, 1) else one.badge.pooled(pooling(cell))
    norm = one.norm_symbol if view.by == "value" else ""
    return [
        HeadMap(view.site, f"head {head}", cells_RC, beside, above, cell, head, badge, norm, most_of_head)
        for head, cells_RC, most_of_head in zip(numbers, cells_HRC, largest, strict=True)
    ]


def cell_for(call: ForwardCall, site: str, size: Extent, most: Extent) -> Extent:
    """How many tokens one cell stands for; where a text looks at itself, as many down as across."""
    down, across = (max(1, -(-length // max(room, 1))) for length, room in zip(size, most, strict=True))
    return (down, across) if call.crosses(site) else (max(down, across), max(down, across))


def pooling(cell: Extent) -> str:
    return f"sum over {cell[1]} keys, mean over {cell[0]} queries a cell"


def measure_in_words(maps: Sequence[HeadMap]) -> str:
    """What the cells of some maps are."""
    pooled = any(one.pooled for one in maps)
    norms = " or ".join(dict.fromkeys(one.norm for one in maps if one.norm))
    if not norms:
        return "part of a row's attention" if pooled else "weight"
    largest = f"the largest {maps[0].largest:.3g}" if len(maps) == 1 else "each head's largest"
    return f"{'part of a row: ' if pooled else ''}weight times {norms}, of {largest}"


def sides_in_words(call: ForwardCall, site: str, row: Row) -> str:
    """Which text stands where, and which of a decoder's tokens is meant."""
    if not call.writes(site):
        return "each row: where a token of the source looks" if call.source else "each row: where a token looks"
    who = "the model looks" if call.source is None else "the decoder looks"
    if call.source is not None:
        who += " in the source" if call.sides(site)[1] == "source" else " in the target"
    if row == "output":
        return f"each row: where {who} to write this token"
    return f"each row: where {who} once it has read this token"


def badge_of(maps: Sequence[HeadMap]) -> Badge:
    """The badge of what is shown; that of a site is about all its heads, and counts once."""
    return together({one.site: one.badge for one in maps}.values())


def top_keys(call: ForwardCall, view: View, row: int, count: int) -> list[tuple[int, float]]:
    """The strongest keys of one row, with their exact weights; by "value", with the products."""
    assert view.site is not None
    assert view.head is not None
    across = Axis.read("columns", view.columns, call.extent(view.site, view.batch)[1])
    weights = call.weights(view.site, view.head, row, across.extent, view.batch, by=view.by)
    best = torch.topk(weights, min(count, len(weights)))
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [(across.start + key, weight) for key, weight in pairs if weight > 0]
