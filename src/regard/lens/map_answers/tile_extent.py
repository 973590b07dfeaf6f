"""Which rectangle a tile is of, and in cells of how many positions: sides are powers of two."""

from __future__ import annotations

from regard.lens.recording.pooled import PooledMap

Extent = tuple[int, int]


def cell_for(length: int, most: int) -> int:
    """How many positions become one number, so that there are at most so many."""
    cell = 1
    while -(-length // cell) > most:
        cell *= 2
    return cell


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
