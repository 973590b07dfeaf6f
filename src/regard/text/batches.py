"""Which rows stand side by side: bucketed by length to a budget of tokens, and always the same for the same seed.

A plan is a pure function of the lengths, the seed and the epoch. So training goes on in the middle of an epoch by
counting, and any worker can lay out any batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from regard.text.store import Array, Store

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class Budget:
    """How large a batch is.

    tokens  rows times the longest row, at most
    step    lengths are rounded up to a multiple of it before rows are put together
    """

    tokens: int
    step: int = 4

    def rows(self, length: int) -> int:
        rows = max(1, self.tokens // length)
        return rows // 8 * 8 if rows >= 16 else rows


@dataclass(frozen=True)
class Spec:
    """One batch: which rows, in an array of how many, each column padded to what width (None: to its longest)."""

    numbers: Array
    rows: int
    widths: tuple[int, ...] | None

    @property
    def filled(self) -> Array:
        """The rows, repeated until there are enough: padding alone would be a text that nobody ever trained on."""
        return np.resize(self.numbers, self.rows)


def plan(lengths: Array, budget: Budget, order: Array, rng: np.random.Generator) -> list[Spec]:
    """Batches over the rows of `order`, in an order of their own."""
    rounded = -(-np.maximum(lengths[order], 1) // budget.step) * budget.step
    sorted_ = np.argsort(rounded, kind="stable")
    specs: list[Spec] = []
    for length in np.unique(rounded):
        numbers = order[sorted_[np.searchsorted(rounded[sorted_], length) :]][: int((rounded == length).sum())]
        rows = budget.rows(int(length))
        for first in range(0, len(numbers), rows):
            some = numbers[first : first + rows]
            specs.append(Spec(some, len(some), None))
    return [specs[place] for place in rng.permutation(len(specs))]


def epoch_order(sources: Array, weights: Sequence[float], rng: np.random.Generator) -> Array:
    """All rows shuffled, each as often as the weight of its source says: 2 is twice, 0.5 a random half each epoch."""
    parts: list[Array] = []
    for number, weight in enumerate(weights):
        rows = np.flatnonzero(sources == number)
        parts += [rows] * int(weight)
        rest = round((weight - int(weight)) * len(rows))
        parts.append(rng.permutation(rows)[:rest])
    return rng.permutation(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def layout(store: Store, spec: Spec, pad: int, *, first: int | None = None, column: int = 0) -> Tensor:
    """Some rows of a store as one tensor of ids, each with `first` before it if that is given."""
    ids, lengths = store.rows(spec.filled)
    lead = 0 if first is None else 1
    width = int(lengths.max(initial=0)) if spec.widths is None else spec.widths[column]
    table = np.full((spec.rows, width + lead), pad, dtype=np.int64)
    inside = np.arange(width)[None, :] < lengths[:, None]
    table[:, lead:][inside] = ids
    if first is not None:
        table[:, 0] = first
    return torch.from_numpy(table)


def ahead(specs: Sequence[S], build: Callable[[S], T], workers: int = 0) -> Iterator[T]:
    """What `build` makes of each, in order; with workers, some are made ahead of time."""
    if workers < 1:
        yield from map(build, specs)
        return
    with ThreadPoolExecutor(workers) as pool:
        rest = iter(specs)
        waiting: deque[Future[T]] = deque(pool.submit(build, spec) for spec in islice(rest, 2 * workers))
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(pool.submit(build, spec) for spec in islice(rest, 1))
            yield done
