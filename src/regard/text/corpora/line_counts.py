"""Two files that should have as many lines as each other: where they seem to part."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from itertools import accumulate, islice
from pathlib import Path

from regard.errors import InputError
from regard.text.corpora.encoding import UTF_8
from regard.text.corpora.opening import count_lines, lines

SEARCHED = 1_000_000  # lines in which the place is looked for
CLEARLY = 2.0  # how much further apart lengths are after a shift than before, to be worth telling
ENOUGH = 10  # lines on each side of the place


def check_counts(paths: tuple[Path, Path], files: tuple[str, str], encoding: str = UTF_8) -> None:
    """Refuse two files that do not have the same number of lines."""
    if count_lines(paths[0], encoding) != count_lines(paths[1], encoding):
        raise unequal_counts(paths, files, encoding)


def unequal_counts(paths: tuple[Path, Path], files: tuple[str, str], encoding: str = UTF_8) -> InputError:
    """The error for such files, with both counts."""
    counts = [f"{file} has {count_lines(path, encoding):,}" for path, file in zip(paths, files, strict=True)]
    place = parting(map(mismatch, *(map(len, islice(lines(path, encoding), SEARCHED)) for path in paths)))
    hint = f"; their lengths fit badly from about line {place} on" if place else ""
    return InputError(
        "two aligned files must have as many lines as each other",
        found=f"{' and '.join(counts)}{hint}",
        do="find the line that one of them lacks, or that is broken in two",
    )


def mismatch(first: int, second: int) -> float:
    """How unlike two lengths are, with little said of short lines."""
    return abs(math.log((first + 10) / (second + 10)))


def parting(mismatches: Iterable[float]) -> int | None:
    """The line from which sides stop fitting each other, if it is plain: the lowest point of the running excess."""
    values = array("d", mismatches)
    if len(values) < 2 * ENOUGH:
        return None
    mean = sum(values) / len(values)
    sums = array("d", accumulate(value - mean for value in values))
    before = sums.index(min(sums)) + 1
    if not ENOUGH <= before <= len(values) - ENOUGH:
        return None
    ratio = (sum(values[before:]) / (len(values) - before)) / (sum(values[:before]) / before + 1e-9)
    return before + 1 if ratio > CLEARLY else None
