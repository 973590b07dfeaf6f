"""What every score asks of its texts first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.errors import InputError, KindError


def check_pairs(outputs: Sequence[Any], references: Sequence[Any], what: str = "references") -> None:
    """One output for each text that it should have been, and at least one: a score of nothing is no score."""
    if isinstance(outputs, str) or isinstance(references, str):
        raise KindError(f"outputs and {what} must be lists", found="a string", do='a list such as ["I love AI"]')
    if len(outputs) != len(references):
        raise InputError(
            f"there must be as many outputs as {what}",
            found=f"{len(outputs):,} outputs, {len(references):,} {what}",
            do="check that no line is missing on either side",
        )
    if not outputs:
        raise InputError("there is nothing to score", found="no texts", do="give at least one")
