"""Few shapes: every row once, in a batch that it fits into, with no more padding than any other choice would have."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.text.batches import Budget, Spec
from regard.text.length_classes import CLASSES, FINEST, LengthClasses, best_widths, class_of, even_rows

LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 40)), min_size=1, max_size=80).map(np.array)
TOKENS = st.integers(16, 400)


def planned(table: np.ndarray, classes: LengthClasses, seed: int = 0) -> list[Spec]:
    rng = np.random.default_rng(seed)
    return classes.plan(tuple(table.T), rng.permutation(len(table)), rng)


@given(LENGTHS, TOKENS, st.integers(0, 9))
def test_every_row_is_read_once_in_a_batch_that_it_fits_into(table: np.ndarray, tokens: int, seed: int) -> None:
    specs = planned(table, LengthClasses.of(tuple(table.T), Budget(tokens)), seed)
    assert sorted(n for spec in specs for n in spec.numbers) == list(range(len(table)))
    for spec in specs:
        assert spec.widths is not None
        assert (table[spec.numbers] <= np.array(spec.widths)).all()
        assert 1 <= len(spec.numbers) <= spec.rows
        assert spec.rows * max(spec.widths) <= tokens or spec.rows == 1


@given(LENGTHS, TOKENS, st.integers(1, 5))
def test_there_are_no_more_shapes_than_asked_for(table: np.ndarray, tokens: int, count: int) -> None:
    specs = planned(table, LengthClasses.of(tuple(table.T), Budget(tokens), count=count))
    shapes = {(spec.rows, spec.widths) for spec in specs}
    assert len(shapes) <= count
    for shape in shapes:
        part = [spec for spec in specs if (spec.rows, spec.widths) == shape]
        assert sum(len(spec.numbers) < spec.rows for spec in part) <= 1


@given(st.lists(st.integers(1, 12), min_size=1, max_size=40).map(np.array), st.integers(1, 4))
def test_no_other_boundaries_would_need_fewer_cells(lengths: np.ndarray, count: int) -> None:
    """All of them, tried one by one."""
    values = np.unique(lengths)
    fewest = min(
        sum(min(bound for bound in (*inner, values[-1]) if bound >= length) for length in lengths)
        for size in range(min(count, len(values)))
        for inner in combinations(values[:-1], size)
    )
    widths = best_widths(lengths[:, None], count)
    assert widths[class_of(lengths[:, None], widths)].sum() == fewest


@given(LENGTHS, LENGTHS, TOKENS)
def test_shapes_stay_the_same_when_rows_of_other_epochs_are_longer(
    first: np.ndarray, later: np.ndarray, tokens: int
) -> None:
    most = tuple(np.maximum(first.max(0), later.max(0)).tolist())
    classes = LengthClasses.of(tuple(first.T), Budget(tokens), most)
    assert len(classes.rows) <= CLASSES + 1
    shapes = set(zip(classes.rows.tolist(), map(tuple, classes.widths.tolist()), strict=True))
    for table in (first, later):
        specs = planned(table, classes)
        assert {(spec.rows, spec.widths) for spec in specs} <= shapes
        assert sorted(n for spec in specs for n in spec.numbers) == list(range(len(table)))


@given(st.integers(1, 2000), st.integers(1, 300))
def test_batches_of_a_class_come_out_nearly_full(count: int, largest: int) -> None:
    rows = even_rows(count, largest)
    assert rows <= largest
    batches = -(-count // rows)
    assert batches <= -(-count // largest) or largest % 8
    if largest >= 16 and largest % 8 == 0:
        assert rows % 8 == 0
        assert rows * batches - count < 8 * batches


def test_the_side_that_takes_more_tokens_is_wider() -> None:
    rng = np.random.default_rng(0)
    source = rng.integers(4, 40, 2000)
    table = np.stack([source, source * 3 // 2 + rng.integers(0, 3, 2000)], 1)
    widths = best_widths(table, 6)
    assert (widths[:, 1] > widths[:, 0] * 1.3).all()


def test_very_long_texts_are_told_apart_only_roughly() -> None:
    lengths = np.arange(1, 40 * FINEST, 7)
    widths = best_widths(lengths[:, None], CLASSES)
    assert len(widths) == CLASSES
    assert widths[-1] == lengths[-1]
