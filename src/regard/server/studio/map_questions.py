"""What may be asked of a map: weights, tiles, single cells, the strongest of them; all in the thread of the models."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from torch import Tensor

from regard.attention.tiles import Pool
from regard.lens.map_answers.cell_facts import cell_facts
from regard.lens.map_answers.marginals import Marginals, binned, marginals
from regard.lens.map_answers.tile_extent import aligned, cell_for
from regard.lens.recording.map import By
from regard.server.refusals import Refusal
from regard.server.studio.schema import CellAnswer, TextPart, TextSide, WeightOnColumn
from regard.server.studio.stored_look import TOKENS, StoredLook
from regard.server.studio.work_desk import StopSignal

CELLS = 1 << 22  # numbers of one answer
COMPUTED = 1 << 31  # weights that are computed for one answer
Extent = tuple[int, int]
NumberType = Literal["float16", "float32"]


class WeightsQuestion(NamedTuple):
    """All weights of a head, or of every head of a site."""

    site: str
    head: str
    by: By

    def answer(self, look: StoredLook, _: StopSignal) -> Tensor:
        head = None if self.head == "all" else int(self.head)
        look.check_site(self.site, head)
        rows, columns = look.call.extent(self.site)
        cells = rows * columns * (len(look.call.map(self.site).heads) if head is None else 1)
        if cells > CELLS:
            raise Refusal(413, f"These are {cells:,} weights, where one answer holds {CELLS:,}: please ask for tiles")
        check_values(look, self.site, self.by)
        return look.call.weights(self.site, head, by=self.by)


def check_values(look: StoredLook, site: str, by: str) -> None:
    if by == "value" and look.call.map(site).norms is None:
        raise Refusal(400, "The values were not kept when this was recorded, so there are only plain weights")


class TileQuestion(NamedTuple):
    """A rectangle, pooled to at most height x width numbers, in cells whose sides are powers of two."""

    site: str
    head: int
    rows: str
    columns: str
    height: int
    width: int
    by: Pool

    def answer(self, look: StoredLook, _: StopSignal) -> tuple[Tensor, dict[str, Any]]:
        look.check_site(self.site, self.head)
        high, wide = look.call.extent(self.site)
        rows, columns = extent("rows", self.rows, high), extent("columns", self.columns, wide)
        cell = cell_for(rows[1] - rows[0], self.height), cell_for(columns[1] - columns[0], self.width)
        rows, columns = aligned(look.call.pick(self.site, self.head, 0).pooled, (rows, columns), cell, (high, wide))
        check_work(look, self.site, self.head, (rows, columns), cell)
        numbers = look.call.tile(self.site, self.head, rows, columns, cell=cell, pool=self.by)
        meta = {"cell": cell, "rows": rows, "columns": columns, "exact": cell == (1, 1), "by": self.by}
        return numbers, meta


def extent(name: str, text: str, length: int) -> Extent:
    """`from:to`, an end may be left out; cut to what there is."""
    start, _, stop = text.partition(":")
    first, last = int(start or 0), min(int(stop) if stop else length, length)
    if not first < last:
        raise Refusal(400, f"{name} {text} hold nothing: there are positions from 0 to {length}")
    return first, last


def check_work(
    look: StoredLook, site: str, head: int, sides: tuple[Extent, Extent], cell: Extent | None = None
) -> None:
    """Refuse what would take long, unless it was computed when it was recorded."""
    rows, columns = sides
    cells = (rows[1] - rows[0]) * (columns[1] - columns[0])
    pooled = look.call.map(site).pooled
    if cells > COMPUTED and not (pooled and cell and pooled.serves(rows, columns, cell)):
        sentence = f"These are {cells:,} weights, where {COMPUTED:,} are computed for one answer"
        raise Refusal(413, f"{sentence}: please ask for fewer, or record the text with `regard record --pool`")


class MarginalsQuestion(NamedTuple):
    """Row entropy and received attention of a rectangle's rows and columns, in so many bins."""

    site: str
    head: int
    bins: int
    rows: str
    columns: str

    def answer(self, look: StoredLook, _: StopSignal) -> tuple[Tensor, dict[str, Any]]:
        look.check_site(self.site, self.head)
        high, wide = look.call.extent(self.site)
        rows, columns = extent("rows", self.rows, high), extent("columns", self.columns, wide)
        both = look.remembered(("marginals", self.site, self.head), lambda: self.whole(look))
        bins, cells = binned(Marginals(both.entropy[slice(*rows)], both.received[slice(*columns)]), self.bins)
        return bins, {"row_cell": cells[0], "column_cell": cells[1], "rows": rows, "columns": columns}

    def whole(self, look: StoredLook) -> Marginals:
        """Read, or computed where that is not too much."""
        rows, columns = look.call.extent(self.site)
        if look.call.map(self.site).pooled is None:
            check_work(look, self.site, self.head, ((0, rows), (0, columns)))
        return marginals(look.call, self.site, self.head)


class CellQuestion(NamedTuple):
    """One cell, and what it is made of."""

    site: str
    head: int
    row: int
    column: int

    def answer(self, look: StoredLook, _: StopSignal) -> CellAnswer:
        look.check_site(self.site, self.head)
        check_place("row", self.row, look.call.extent(self.site)[0])
        check_place("column", self.column, look.call.extent(self.site)[1])
        facts = cell_facts(look.call, self.site, self.head, self.row, self.column)
        rows, columns = look.sides(self.site)
        return CellAnswer(
            site=self.site, head=self.head, row=self.row, column=self.column,
            row_token=look.token(rows, self.row), column_token=look.token(columns, self.column),
            query=facts.query, key=facts.key, products=facts.products, score=facts.score, scale=facts.scale,
            softcap=facts.softcap, bias=facts.bias, scaled=facts.scaled, masked=facts.masked, lse=facts.lse,
            weight=facts.weight, value_norm=facts.value_norm, rank=facts.rank,
            row_top=[
                WeightOnColumn(column=column, token=look.token(columns, column), weight=weight)
                for column, weight in facts.row_top
            ],
        )  # fmt: skip


def check_place(name: str, place: int, length: int) -> None:
    if place >= length:
        raise Refusal(404, f"There is no {name} {place:,}: this map has {length:,}, counted from 0")


class TextQuestion(NamedTuple):
    """Tokens of one side."""

    side: TextSide
    first: int
    last: int | None

    def answer(self, look: StoredLook) -> TextPart:
        tokens = look.side(self.side)
        last = len(tokens) if self.last is None else self.last
        return TextPart(start=self.first, tokens=tokens[self.first : min(last, self.first + 16 * TOKENS)])
