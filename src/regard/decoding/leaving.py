"""When texts that are done leave the batch."""

from __future__ import annotations

from collections.abc import Sequence

SHARE = 8  # one in so many must be done: copying the others pays within a step or two


def worth_leaving(over: Sequence[bool], share: int = SHARE) -> bool:
    """Are so many texts done that going on without them pays for moving the others together?"""
    return share * sum(over) >= len(over) and any(over)
