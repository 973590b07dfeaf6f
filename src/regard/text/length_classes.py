"""A handful of shapes for all batches: for a device that records or compiles each shape once, and replays it.

Rows are parted by length into classes; each class has one shape, chosen so that all of them together hold the least
padding. The classes follow from the lengths alone, so they are the same for every epoch and every start of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from regard.text.batches import Budget, Spec
from regard.text.store import Array

CLASSES = 12  # shapes: each takes its time to record or compile, and more of them save little padding
FINEST = 512  # lengths that are told apart at most; longer ones are rounded up first


@dataclass(frozen=True)
class LengthClasses:
    """The shapes from short to long: class c has `rows[c]` rows, padded to `widths[c]`, one width for each column."""

    widths: Array
    rows: Array

    @classmethod
    def of(
        cls, lengths: Sequence[Array], budget: Budget, most: Sequence[int] = (), count: int = CLASSES
    ) -> LengthClasses:
        """For rows of these lengths, given by column; no row of any epoch is longer than `most`."""
        table = np.stack([np.maximum(column, 1) for column in lengths], 1)
        widths = best_widths(table, count)
        if most and (np.array(most) > widths[-1]).any():  # other epochs may have longer rows: a last class for them
            widths = np.vstack([widths, np.maximum(widths[-1], most)])
        counts = np.bincount(class_of(table, widths), minlength=len(widths))
        largest = [budget.rows(int(width)) for width in widths.max(1)]
        return cls(widths, np.array([even_rows(*pair) for pair in zip(counts.tolist(), largest, strict=True)]))

    def plan(self, lengths: Sequence[Array], order: Array, rng: np.random.Generator) -> list[Spec]:
        """Batches over the rows of `order`, in an order of their own; the last of a class is filled up."""
        classes = class_of(np.stack([column[order] for column in lengths], 1), self.widths)
        specs: list[Spec] = []
        for number, rows in enumerate(self.rows.tolist()):
            numbers, widths = order[classes == number], tuple(self.widths[number].tolist())
            specs += [Spec(numbers[first : first + rows], rows, widths) for first in range(0, len(numbers), rows)]
        return [specs[place] for place in rng.permutation(len(specs))]


def class_of(table: Array, widths: Array) -> Array:
    """The first class that every column of a row fits into; widths never fall from class to class."""
    fits: Array = np.array([np.searchsorted(widths[:, n], table[:, n]) for n in range(table.shape[1])])
    first: Array = fits.max(0)
    return first


def even_rows(count: int, largest: int) -> int:
    """As many rows a batch as make batches full: 130 of at most 64 are three of 48, not two of 64 and a rest."""
    batches = max(1, -(-count // largest))
    rows = max(1, -(-count // batches))
    return min(largest, -(-rows // 8) * 8 if largest >= 16 else rows)


def best_widths(table: Array, count: int) -> Array:
    """The shapes of at most `count` classes with the least padding, by dynamic programming over the longest side.

    Sides are compared as shares of their means: where one language takes more tokens, its side is wider in each class.
    least[j] is the fewest cells for all rows up to the j-th length, with one class more in each round: the last class
    begins somewhere, before[j], and what is before it was solved in the round before.
    """
    means = table.mean(0)
    longest = np.ceil(table * (means.max() / means)).max(1).astype(np.int64)
    step = -(-int(longest.max()) // FINEST)
    values, place, counts = np.unique(-(-longest // step), return_inverse=True, return_counts=True)
    tops = np.zeros((len(values), table.shape[1]), np.int64)  # of each length, how long each column is at most
    np.maximum.at(tops, place, table)
    cells = class_cells(tops, counts)
    least = np.concatenate([[0.0], np.full(len(values), np.inf)])
    begins: list[Array] = []
    for _ in range(min(count, len(values))):
        total = least[:, None] + cells
        begins.append(total.argmin(0))
        least = total.min(0)
    bounds = [len(values)]
    for before in reversed(begins):
        bounds.append(int(before[bounds[-1]]))
    edges = sorted(set(bounds))
    widths = [tops[first:last].max(0) for first, last in pairwise(edges)]
    return np.maximum.accumulate(np.array(widths))


def class_cells(tops: Array, counts: Array) -> Array:
    """cells[i, j]: how many cells the rows from the i-th length up to, without it, the j-th take as one class."""
    size = len(counts)
    cells = np.full((size + 1, size + 1), np.inf)
    before = np.concatenate([[0], np.cumsum(counts)])
    for first in range(size):
        widths = np.maximum.accumulate(tops[first:]).sum(1)
        cells[first, first + 1 :] = (before[first + 1 :] - before[first]) * widths
    return cells
