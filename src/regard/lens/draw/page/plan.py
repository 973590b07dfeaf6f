"""Which maps a page holds, and how finely: every weight where they fit, else cells of several tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from regard.attention.tiles import Pool
from regard.errors import InputError
from regard.lens.map_answers.tile_extent import cell_for
from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.map import By

TOGETHER = 1 << 22  # cells of all maps of a page: 12 x 12 heads are shown weight by weight up to 170 tokens
CLOSER = 1 << 22  # cells of the head, or the site, that was asked for: of one weight by weight up to 2,048 tokens
POOL: Pool = "max"  # a pooled cell shows the largest weight in it, which is still a weight


@dataclass(frozen=True)
class Plate:
    """The heads of one site as they are shown."""

    site: str
    heads: tuple[int, ...]
    rows: int  # tokens down
    columns: int  # and across
    cell: tuple[int, int] = (1, 1)  # tokens that one cell stands for
    closer: bool = False  # shown finer than the others, because it was asked for
    by: By = "weight"  # what a cell is: pooled, it can be only one; else the page itself multiplies by the norms

    @property
    def pooled(self) -> bool:
        return self.cell != (1, 1)

    @property
    def pooling(self) -> str:
        """In the words of the badge."""
        return f"{POOL} of {self.cell[0]} x {self.cell[1]}" if self.pooled else "none"


def plan(call: ForwardCall, batch: int, site: str | None, head: int | None, by: By = "weight") -> list[Plate]:
    """All heads within `TOGETHER` cells; if that needs pooling, the site or head asked for once more, within `CLOSER`.

    A head that is not in the recording is an error of `ForwardCall.pick`, as everywhere. Pooled cells are `by` weight
    or value as asked: both would be twice as many bytes.
    """
    for one in call.maps.values():
        one.norms_by(by)
    plates = plates_by_weight(call, batch, site, head)
    return [replace(plate, by=by if plate.pooled else "weight") for plate in plates]


def plates_by_weight(call: ForwardCall, batch: int, site: str | None, head: int | None) -> list[Plate]:
    """The plates of a plan, by weight."""
    whole = [Plate(name, one.heads, *call.extent(name, batch)) for name, one in call.maps.items()]
    plates = list(fitted(whole, TOGETHER))
    if site is None and head is not None:
        raise InputError("a head belongs to a site", found=f"head={head}, no site", do="give site= too")
    if site is None:
        return plates
    heads = call.pick(site, head, batch).heads
    asked = next(plate for plate in plates if plate.site == site)
    (finer,) = fitted([Plate(site, heads, asked.rows, asked.columns, closer=True)], CLOSER)
    return [*plates, finer] if finer.cell < asked.cell else plates


def fitted(plates: Sequence[Plate], room: int) -> Iterator[Plate]:
    """With no more cells together than there is room for: cells of a power of two, as every zoom of a map needs them.

    The largest maps are pooled first: no side of any has more cells than some power of two allows.
    """
    side = longest(plates, room)
    for plate in plates:
        cell = cell_for(max(plate.rows, plate.columns), side)
        yield replace(plate, cell=(cell, cell))


def longest(plates: Sequence[Plate], room: int) -> int:
    """The most cells that a side may have."""
    low, high = 1, max((max(plate.rows, plate.columns) for plate in plates), default=1)
    while low < high:
        side = (low + high + 1) // 2
        cells = sum(cells_of(plate, cell_for(max(plate.rows, plate.columns), side)) for plate in plates)
        low, high = (side, high) if cells <= room else (low, side - 1)
    return max(1, low)


def cells_of(plate: Plate, cell: int) -> int:
    return len(plate.heads) * -(-plate.rows // cell) * -(-plate.columns // cell)
