"""How fast a machine is: measured in turns, neither too briefly nor for too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from regard.training.plan.probe import best_threads, compare_threads, mean_seconds, spread, thread_counts


def ticking(times: dict[int, float], log: list[int]) -> Callable[[int], float]:
    def once(count: int) -> float:
        log.append(count)
        return times[count]

    return once


@pytest.mark.parametrize(
    ("times", "best"),
    [
        ({1: 1.0, 2: 0.6}, 2),
        ({1: 1.0, 2: 0.95}, 1),  # hardly faster: the other core is left to others
        ({1: 1.0, 2: 4.0}, 1),
        ({1: 1.0, 2: 0.5, 4: 0.3, 8: 0.29, 16: 0.5}, 4),
        ({1: 1.0}, 1),
    ],
)
def test_the_fewest_threads_that_are_nearly_the_fastest(times: dict[int, float], best: int) -> None:
    assert best_threads(compare_threads(ticking(times, []), list(times))) == best


def test_threads_are_measured_in_turns_and_hopeless_ones_once() -> None:
    log: list[int] = []
    compare_threads(ticking({1: 0.4, 2: 0.3, 4: 40.0}, log), [1, 2, 4])
    assert log.count(4) == 1
    assert log[3:] == [1, 2] * (len(log[3:]) // 2)
    assert log.count(1) >= 4


def test_which_numbers_of_threads_are_tried() -> None:
    assert [thread_counts(most) for most in (1, 2, 3, 8, 12)] == [
        [1],
        [1, 2],
        [1, 2, 3],
        [1, 2, 4, 8],
        [1, 2, 4, 8, 12],
    ]


def test_a_measurement_is_neither_too_short_nor_too_long() -> None:
    def taking(seconds: float) -> int:
        calls: list[Any] = []
        assert mean_seconds(lambda: calls.append(1) or seconds) == pytest.approx(seconds)
        return len(calls)

    assert [taking(seconds) for seconds in (0.0, 0.125, 0.25, 2.0, 60.0)] == [20, 8, 4, 2, 1]


@pytest.mark.parametrize(("count", "wanted", "places"), [(3, 5, [0, 1, 2]), (10, 5, [0, 2, 4, 6, 8]), (1, 1, [0])])
def test_batches_are_looked_at_evenly(count: int, wanted: int, places: list[int]) -> None:
    assert spread(count, wanted) == places
