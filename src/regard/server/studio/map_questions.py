"""What may be asked of a map: weights, tiles, single cells, the strongest of them; all in the thread of the models."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from regard.attention.tiles import Pool
from regard.lens.recording.map import By, Map
from regard.lens.recording.pooled import PooledMap
from regard.server.refusals import Refusal
from regard.server.studio.schema import CellAnswer, TextPart, TextSide, WeightOnColumn
from regard.server.studio.stored_look import TOKENS, StoredLook
from regard.server.studio.work_desk import StopSignal

CELLS = 1 << 22  # numbers of one answer
COMPUTED = 1 << 31  # weights that are computed for one answer
ROW_TOP = 10  # keys of a row that are told
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


def cell_for(length: int, most: int) -> int:
    """How many positions become one number."""
    cell = 1
    while -(-length // cell) > most:
        cell *= 2
    return cell


def extent(name: str, text: str, length: int) -> Extent:
    """`from:to`, an end may be left out; cut to what there is."""
    start, _, stop = text.partition(":")
    first, last = int(start or 0), min(int(stop) if stop else length, length)
    if not first < last:
        raise Refusal(400, f"{name} {text} hold nothing: there are positions from 0 to {length}")
    return first, last


def aligned(
    pooled: PooledMap | None, sides: tuple[Extent, Extent], cell: Extent, sizes: Extent
) -> tuple[Extent, Extent]:
    """Where coarse cells were pooled when it was recorded, a tile begins and ends with whole ones."""
    if pooled is None or any(size % pooled.cell for size in cell):
        return sides
    first, second = (
        (start // size * size, min(-(-stop // size) * size, length))
        for (start, stop), size, length in zip(sides, cell, sizes, strict=True)
    )
    return first, second


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
    """Row entropy and received attention, in so many bins."""

    site: str
    head: int
    bins: int

    def answer(self, look: StoredLook, _: StopSignal) -> tuple[Tensor, dict[str, Any]]:
        look.check_site(self.site, self.head)
        rows, columns = look.call.extent(self.site)
        entropy, received = look.remembered(("marginals", self.site, self.head), lambda: self.whole(look))
        cells = max(1, -(-rows // self.bins)), max(1, -(-columns // self.bins))
        bins = min(self.bins, max(-(-rows // cells[0]), -(-columns // cells[1])))
        binned = [binned_means(one, cell, bins) for one, cell in zip((entropy, received), cells, strict=True)]
        meta = {"row_cell": cells[0], "column_cell": cells[1], "rows": rows, "columns": columns}
        return torch.stack(binned), meta

    def whole(self, look: StoredLook) -> tuple[Tensor, Tensor]:
        """Each row's entropy, and what each column received."""
        rows, columns = look.call.extent(self.site)
        one = look.call.pick(self.site, self.head, 0)
        if one.pooled is not None:
            return one.pooled.entropy[0, 0, :rows].float().cpu(), one.pooled.received[0, 0, :columns].float().cpu()
        check_work(look, self.site, self.head, ((0, rows), (0, columns)))
        entropy = one.statistics().entropy[0, 0, :rows].float().cpu()
        return entropy, one.received()[0, 0, :columns].float().cpu()


def binned_means(values: Tensor, cell: int, bins: int) -> Tensor:
    """The mean of each bin; NaN beyond the last."""
    padded = torch.full((bins * cell,), math.nan)
    padded[: len(values)] = values[: bins * cell]
    return padded.view(bins, cell).nanmean(-1)


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
        one = look.call.pick(self.site, self.head, 0)
        query, key = one.query[0, 0, self.row].double().cpu(), one.key[0, 0, self.column].double().cpu()
        rows, columns = look.sides(self.site)
        weights = look.call.row(self.site, self.head, self.row)
        weight = float(weights[self.column])
        norm = None if one.norms is None else float(one.norms[0, 0, self.column])
        return CellAnswer(
            site=self.site, head=self.head, row=self.row, column=self.column,
            row_token=look.token(rows, self.row), column_token=look.token(columns, self.column),
            query=query.tolist(), key=key.tolist(), products=(query * key).tolist(), weight=weight,
            lse=finite(float(one.lse[0, 0, self.row])), value_norm=None if norm is None else finite(norm),
            scale=one.terms.scale, softcap=one.terms.softcap,
            rank=1 + int((weights > weights[self.column]).sum()), row_top=self.row_top(look, weights),
            **self.score(one, float(query @ key)),
        )  # fmt: skip

    def score(self, one: Map, score: float) -> dict[str, Any]:
        """From q.k to what the softmax is given."""
        shown, added = one.terms.at(torch.tensor([self.row]), torch.tensor([self.column]), one.queries)
        bias = 0.0 if added is None else float(added[0, 0])
        masked = not bool(shown[0, 0]) or bias == -math.inf
        scaled = one.terms.scale * score
        if one.terms.softcap is not None:
            scaled = one.terms.softcap * math.tanh(scaled / one.terms.softcap)
        bias = finite(bias) or 0.0
        return {"score": score, "scaled": None if masked else scaled + bias, "masked": masked, "bias": bias}

    def row_top(self, look: StoredLook, weights: Tensor) -> list[WeightOnColumn]:
        _, side = look.sides(self.site)
        best = weights.float().topk(min(ROW_TOP, len(weights)))
        return [
            WeightOnColumn(column=column, token=look.token(side, column), weight=weight)
            for column, weight in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]


def check_place(name: str, place: int, length: int) -> None:
    if place >= length:
        raise Refusal(404, f"There is no {name} {place:,}: this map has {length:,}, counted from 0")


def finite(number: float) -> float | None:
    """JSON has no infinity."""
    return number if math.isfinite(number) else None


class TextQuestion(NamedTuple):
    """Tokens of one side."""

    side: TextSide
    first: int
    last: int | None

    def answer(self, look: StoredLook) -> TextPart:
        tokens = look.side(self.side)
        last = len(tokens) if self.last is None else self.last
        return TextPart(start=self.first, tokens=tokens[self.first : min(last, self.first + 16 * TOKENS)])
