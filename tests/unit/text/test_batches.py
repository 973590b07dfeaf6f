"""Batches: within a budget, every row as often as asked, the same again for the same seed, whoever lays them out."""

from __future__ import annotations

import time
from collections import Counter
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.text.batches import Budget, Spec, ahead, epoch_order, layout, plan
from regard.text.store import Store

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=80).map(np.array)
BUDGETS = st.builds(Budget, st.integers(16, 400), st.sampled_from([1, 4, 8]))


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def planned(lengths: np.ndarray, budget: Budget, seed: int = 0) -> list[Spec]:
    order = epoch_order(np.zeros(len(lengths), np.int64), (1.0,), generator(seed))
    return plan(lengths, budget, order, generator(seed + 1))


@given(LENGTHS, BUDGETS, st.integers(0, 9))
def test_every_row_is_read_once_and_fits_the_budget(lengths: np.ndarray, budget: Budget, seed: int) -> None:
    specs = planned(lengths, budget, seed)
    assert sorted(n for spec in specs for n in spec.numbers) == list(range(len(lengths)))
    for spec in specs:
        longest = int(lengths[spec.numbers].max())
        assert spec.widths is None
        assert spec.rows * longest <= budget.tokens or spec.rows == 1
        assert longest - lengths[spec.numbers].min() < budget.step
        assert len(spec.numbers) == spec.rows


@given(LENGTHS, BUDGETS, st.integers(0, 9))
def test_a_plan_is_the_same_for_the_same_seed(lengths: np.ndarray, budget: Budget, seed: int) -> None:
    first, second = (planned(lengths, budget, seed) for _ in range(2))
    assert [spec.numbers.tolist() for spec in first] == [spec.numbers.tolist() for spec in second]


def test_epochs_and_seeds_come_in_other_orders() -> None:
    lengths = np.arange(200) % 30 + 1
    orders = {str([spec.numbers.tolist() for spec in planned(lengths, Budget(64), seed)]) for seed in range(5)}
    assert len(orders) == 5


@given(st.lists(st.integers(0, 2), min_size=1, max_size=60).map(np.array), st.integers(0, 9))
def test_sources_are_read_as_often_as_their_weights_say(sources: np.ndarray, seed: int) -> None:
    counts = Counter(epoch_order(sources, (1.0, 2.0, 0.5), generator(seed)).tolist())
    for number, source in enumerate(sources):
        assert counts[number] in {0: (1,), 1: (2,), 2: (0, 1)}[int(source)]
    halves = int((sources == 2).sum())
    assert sum(counts[n] for n in np.flatnonzero(sources == 2)) == round(halves / 2)


def test_half_of_a_source_is_another_half_each_epoch() -> None:
    sources = np.zeros(40, np.int64)
    halves = [frozenset(epoch_order(sources, (0.5,), generator(seed)).tolist()) for seed in range(6)]
    assert len(set(halves)) == 6
    assert {len(half) for half in halves} == {20}
    counts = Counter(epoch_order(sources, (2.5,), generator()).tolist())
    assert sorted(counts.values()) == [2] * 20 + [3] * 20


@pytest.mark.parametrize("workers", [0, 1, 2, 5])
def test_workers_change_neither_what_is_built_nor_its_order(workers: int) -> None:
    def build(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    assert list(ahead(range(20), build, workers)) == [number * number for number in range(20)]
    assert list(ahead(range(20)[7:], build, workers)) == [number * number for number in range(7, 20)]
    assert list(ahead([], build, workers)) == []


@pytest.mark.parametrize("workers", [0, 2])
def test_what_fails_ahead_of_time_fails_when_its_turn_comes(workers: int) -> None:
    def build(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    batches = ahead(range(9), build, workers)
    assert list(islice(batches, 3)) == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(batches)


def test_workers_do_not_run_far_ahead() -> None:
    begun: list[int] = []
    batches = ahead(range(1000), lambda number: begun.append(number), 2)
    next(batches)
    assert len(begun) <= 6
    batches.close()  # type: ignore[attr-defined]


@given(st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=6), min_size=1, max_size=6), st.booleans())
def test_rows_are_laid_out_side_by_side(rows: list[list[int]], fixed: bool) -> None:
    spec = Spec(np.arange(len(rows)), len(rows) + 2 * fixed, (8,) if fixed else None)
    width = 8 if fixed else max(map(len, rows))
    filled = (rows * 3)[: spec.rows]  # what is missing is said again
    wanted = [row + [0] * (width - len(row)) for row in filled]
    assert layout(Store.of(rows), spec, 0).tolist() == wanted
    led = layout(Store.of(rows), spec, 0, first=1)
    assert led[:, 0].tolist() == [1] * spec.rows
    assert torch.equal(led[:, 1:], torch.tensor(wanted))
