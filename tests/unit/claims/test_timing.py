"""Times in turns: which rounds count, and what medians and powers make of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from regard.claims.lab import timing
from regard.claims.lab.timing import extremes, growth, in_turns, median_of, median_ratio, power
from regard.claims.setting import Setting


def test_every_way_runs_once_a_round_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []

    def run(name: str) -> Callable[[], object]:
        return lambda: order.append(name)

    times = in_turns({name: run(name) for name in "abc"}, 2, Setting())
    assert order == list("abc" + "bca" + "cab")
    assert [len(one) for one in times.values()] == [2, 2, 2]


def test_a_round_takes_what_the_clock_says(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 1.0, 1.0, 3.0])
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks))
    assert in_turns({"one": lambda: None}, 1, Setting()) == {"one": [2.0]}


def test_a_few_disturbed_rounds_do_not_move_the_median() -> None:
    quiet = median_of([1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.02, 0.98])
    disturbed = median_of([1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0, 1.02, 98.0])
    assert (quiet.low, quiet.value, quiet.high) == (0.95, 1.0, 1.05)
    assert disturbed.value == 1.0
    assert disturbed.high < 2


@pytest.mark.parametrize(("count", "skipped"), [(1, 0), (5, 0), (6, 1), (9, 2), (15, 4)])
def test_an_interval_holds_the_median_in_95_of_100_cases(count: int, skipped: int) -> None:
    assert extremes(count) == skipped
    outside = sum(math.comb(count, place) for place in range(skipped)) / 2**count
    assert 2 * outside <= 0.05


def test_too_few_rounds_are_sure_of_nothing() -> None:
    assert median_of([1.0, 2.0, 3.0]).low == -math.inf


def test_ratios_are_taken_within_a_round() -> None:
    """The machine became ten times slower halfway."""
    first, second = [2.0] * 5 + [20.0] * 5, [1.0] * 5 + [10.0] * 5
    assert median_ratio(first, second).value == 2


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_growth_is_the_power_of_the_size(exponent: float) -> None:
    by_size = {size: [3.0 * size**exponent] * 7 for size in (10, 40, 100)}
    assert growth(by_size).value == pytest.approx(exponent, abs=1e-9)
    assert power({2: 4.0, 8: 64.0}) == pytest.approx(2)
