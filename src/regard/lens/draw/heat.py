"""What a heat map shows, for every way of drawing: the cells of a head, pooled where there are too many, and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import torch
from torch import Tensor

from regard.attention.tiles import Axis, Extent
from regard.lens.draw.heat_labels import grouped, label
from regard.lens.recording.fidelity import Badge, together
from regard.lens.recording.forward import Call
from regard.lens.recording.tokens import Row


class Part(TypedDict, total=False):
    """Which tokens, (start, stop), which text of the batch, and which token is named beside a decoder's row."""

    rows: Extent | None
    columns: Extent | None
    batch: int
    row: Row


@dataclass(frozen=True)
class View:
    """Which part of a call: everything is shown of what is left out."""

    site: str | None = None
    head: int | None = None
    rows: Extent | None = None
    columns: Extent | None = None
    batch: int = 0
    row: Row = "output"  # a decoder's row is that of the token it writes; "input": of the one it read


@dataclass(frozen=True)
class Heat:
    """One head's map. A cell is a weight; pooled, the share of a row's attention that its keys get, on average."""

    site: str
    head: int
    cells_RC: Tensor
    rows: list[str]
    columns: list[str]
    cell: Extent  # queries x keys that one cell stands for
    badge: Badge

    @property
    def pooled(self) -> bool:
        return self.cell != (1, 1)

    @property
    def most(self) -> float:
        """The largest cell."""
        return float(self.cells_RC.max()) if self.cells_RC.numel() else 0.0

    @property
    def name(self) -> str:
        return f"{self.site}, head {self.head}"


def heats(call: Call, view: View, most: Extent) -> list[Heat]:
    """The maps of a site, of one head or of all, in at most so many cells down and across."""
    assert view.site is not None
    high, wide = call.extent(view.site, view.batch)
    down, across = Axis.read("rows", view.rows, high, 1), Axis.read("columns", view.columns, wide, 1)
    cell = cell_for(call, view.site, (down.stop - down.start, across.stop - across.start), most)
    extents = (down.start, down.stop), (across.start, across.stop)
    tiles = call.tile(view.site, view.head, *extents, cell=cell, pool="mass", batch=view.batch).float().cpu()
    sizes = Axis(down.start, down.stop, cell[0]).sizes(tiles)[:, None]
    cells_HRC = (tiles if view.head is None else tiles[None]).nan_to_num(0.0) / sizes
    names = [[label(token) for token in side] for side in call.labels(view.site, view.batch, view.row)]
    beside = grouped(names[0][down.start : down.stop], cell[0], down.start)
    above = grouped(names[1][across.start : across.stop], cell[1], across.start)
    one = call.map(view.site)
    badge = one.badge if cell == (1, 1) else one.badge.pooled(pooling(cell))
    numbers = one.heads if view.head is None else (view.head,)
    return [
        Heat(view.site, head, cells_RC, beside, above, cell, badge)
        for head, cells_RC in zip(numbers, cells_HRC, strict=True)
    ]


def cell_for(call: Call, site: str, size: Extent, most: Extent) -> Extent:
    """How many tokens one cell stands for; where a text looks at itself, as many down as across."""
    down, across = (max(1, -(-length // max(room, 1))) for length, room in zip(size, most, strict=True))
    return (down, across) if call.crosses(site) else (max(down, across), max(down, across))


def pooling(cell: Extent) -> str:
    return f"sum over {cell[1]} keys, mean over {cell[0]} queries a cell"


def largest(all_of: Sequence[Heat]) -> float:
    """What the strongest colour stands for: the largest cell; of pooled ones, what all but 1 in 100 stay below.

    Where later tokens see more keys, the first rows have large cells only because they have few.
    """
    most = max((heat.most for heat in all_of), default=0.0) or 1.0
    lit = [heat.cells_RC[heat.cells_RC > 0] for heat in all_of if heat.pooled]
    if not lit or not sum(map(len, lit)):
        return most
    ranked = torch.cat(lit).sort().values
    return max(float(ranked[int(0.99 * (len(ranked) - 1))]), most / 64)


def topmost(all_of: Sequence[Heat]) -> str:
    """The end of the scale, in words."""
    top = largest(all_of)
    return f"{top:.3g} and more" if max((heat.most for heat in all_of), default=0.0) > top * 1.005 else f"{top:.3g}"


def shares(heat: Heat, most: float) -> Tensor:
    """How strongly to colour each cell, 0 to 1."""
    return (heat.cells_RC / most).clamp(0.0, 1.0)


def sides_in_words(call: Call, site: str, row: Row) -> str:
    """Which text stands where, and which of a decoder's tokens is meant."""
    if not call.writes(site):
        return "each row: where a token of the source looks" if call.source else "each row: where a token looks"
    who = "the model looks" if call.source is None else "the decoder looks"
    if call.source is not None:
        who += " in the source" if call.sides(site)[1] == "source" else " in the target"
    if row == "output":
        return f"each row: where {who} to write this token"
    return f"each row: where {who} once it has read this token"


def truth(all_of: Sequence[Heat]) -> Badge:
    """The badge of what is shown; that of a site is about all its heads, and counts once."""
    return together({heat.site: heat.badge for heat in all_of}.values())


def top_keys(call: Call, view: View, row: int, count: int) -> list[tuple[int, float]]:
    """The strongest keys of one row, with their exact weights."""
    assert view.site is not None
    assert view.head is not None
    weights = call.weights(view.site, view.head, (row, row + 1), view.columns, view.batch)[0]
    first = 0 if view.columns is None else view.columns[0]
    found = torch.topk(weights, min(count, len(weights)))
    pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    return [(first + key, weight) for key, weight in pairs if weight > 0]
