"""Where a text says something, token by token: whatever the case, and wherever tokens are cut."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from regard.server.studio.schema import FoundPositions

MOST = 1000  # matches that are told


def found_positions(tokens: Sequence[str], wanted: str) -> FoundPositions:
    """The position of the first token of each match; spaces do not count, since tokenizers show them differently."""
    parts = ["".join(token.split()).casefold() for token in tokens]
    needle, whole = "".join(wanted.split()).casefold(), "".join(parts)
    starts = [0, *accumulate(map(len, parts))]
    positions: list[int] = []
    at = whole.find(needle) if needle else -1
    while at >= 0 and len(positions) <= MOST:
        position = bisect_right(starts, at) - 1
        if not positions or positions[-1] != position:
            positions.append(position)
        at = whole.find(needle, at + 1)
    return FoundPositions(positions=positions[:MOST], more=len(positions) > MOST)
