"""The largest weights of a map, with their words."""

from __future__ import annotations

from dataclasses import dataclass

from regard.lens.map_answers.strongest_cells import StrongestCells
from regard.server.studio.map_questions import check_work, extent
from regard.server.studio.schema import StrongCell
from regard.server.studio.stored_look import StoredLook
from regard.server.studio.work_desk import StopSignal


@dataclass(frozen=True)
class StrongestQuestion:
    """The largest weights of a rectangle; without the diagonal and the first key, unless all are asked for."""

    site: str
    head: int
    count: int
    rows: str
    columns: str
    all: bool

    def answer(self, look: StoredLook, stop: StopSignal) -> list[StrongCell]:
        look.check_site(self.site, self.head)
        high, wide = look.call.extent(self.site)
        rows, columns = extent("rows", self.rows, high), extent("columns", self.columns, wide)
        cells = StrongestCells(look.call, self.site, self.head, self.count, self.all)
        if not cells.from_pooled(rows, columns):
            check_work(look, self.site, self.head, (rows, columns))
        sides = look.sides(self.site)
        return [
            StrongCell(
                row=row, column=column, weight=weight,
                row_token=look.token(sides[0], row), column_token=look.token(sides[1], column),
            )
            for row, column, weight in cells.within(rows, columns, stop.check)
        ]  # fmt: skip
