"""Pairs to learn from that are short, or of every length, and tests of each length: what is longer than any learned?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice
from random import Random
from typing import NamedTuple

from regard.claims.lab.clauses import clauses
from regard.claims.lab.pair_task import PairIds, PairTask, WordIds, real_pairs
from regard.claims.setting import Setting
from regard.text.grammar import Sentence

TRAINED, LONGEST = 2, 4  # clauses of a sentence to learn from, and of the longest test
PAIRS, TESTS = 3_000, 80  # to learn from, and of each number of clauses to be asked
SHORT = 14  # source tokens of real text that the short ones have at most
BOUNDS = (10, 14, 18, 22, 100)  # most source tokens of each group of tests in real text


class LengthTask(NamedTuple):
    """As many pairs of each kind, one vocabulary, and the tests, of which the first groups are as short as `short`."""

    short: PairTask
    mixed: PairTask
    tests: tuple[tuple[PairIds, ...], ...]
    trained: int  # groups that are no longer than what `short` has

    def mean_length(self, group: int) -> float:
        return sum(len(pair.source) for pair in self.tests[group]) / len(self.tests[group])


def length_task(setting: Setting) -> LengthTask:
    """Of clauses in the quick form; in the full form of Multi30k."""
    return real_lengths(real_pairs(setting.folder("multi30k"), "multi30k")) if setting.full else clause_lengths(PAIRS)


@cache
def clause_lengths(count: int) -> LengthTask:
    numbers = range(1, LONGEST + 1)
    short = list(islice(clauses("train", tuple(numbers)[:TRAINED]), count))
    mixed = list(islice(clauses("train", tuple(numbers)), count))
    tests = [list(islice(clauses("test", (number,)), TESTS)) for number in numbers]
    source, target = (WordIds(getattr(one, side) for one in (*short, *mixed)) for side in ("source", "target"))

    def encoded(some: Sequence[Sentence]) -> tuple[PairIds, ...]:
        return tuple(PairIds(source.encode(one.source), target.encode(one.target), one) for one in some)

    groups = tuple(encoded(some) for some in tests)
    within = tuple(pair for group in groups[:TRAINED] for pair in group)
    taught, control = (PairTask(encoded(some), (), within, source, target) for some in (short, mixed))
    return LengthTask(taught, control, groups, TRAINED)


def real_lengths(task: PairTask) -> LengthTask:
    """The short pairs; as many of every length, drawn by a fixed seed; and what is kept aside, by length."""
    short = tuple(pair for pair in task.train if len(pair.source) <= SHORT)
    mixed = tuple(Random("lengths").sample(task.train, len(short)))
    aside = (*task.valid, *task.test)
    edges = zip((0, *BOUNDS[:-1]), BOUNDS, strict=True)
    groups = tuple(tuple(pair for pair in aside if low < len(pair.source) <= high) for low, high in edges)
    trained = sum(bound <= SHORT for bound in BOUNDS)
    within = tuple(pair for group in groups[:trained] for pair in group)
    taught, control = (PairTask(some, (), within, task.source, task.target) for some in (short, mixed))
    return LengthTask(taught, control, groups, trained)
