"""Numbers with their intervals, against what is known of them: means, ratios, shares, slopes, orders."""

from __future__ import annotations

import math
from random import Random

import pytest

from regard.claims.estimates import (
    Estimate,
    difference,
    exactly,
    mean_of,
    rank_correlation,
    ranked,
    ratio,
    share_of,
    slope,
)
from regard.errors import InputError

ROUNDING = 1e-9  # of sums of a few numbers of about 1


def test_a_mean_has_the_interval_of_student() -> None:
    """Of 1, 2, 3: 4.303 standard errors of 1 / √3 on either side."""
    one = mean_of([1.0, 2.0, 3.0])
    half = 4.303 / math.sqrt(3)
    assert (one.value, one.low, one.high) == pytest.approx((2, 2 - half, 2 + half), abs=ROUNDING)


def test_one_run_is_sure_of_nothing() -> None:
    one = mean_of([5.0])
    assert one.value == 5
    assert not one.above(-1e300)
    assert not one.below(1e300)
    with pytest.raises(InputError, match="measure at least once"):
        mean_of([])


def test_an_interval_holds_the_truth_in_about_95_of_100_draws() -> None:
    """Four standard deviations of a share of 2,000 draws are 0.02."""
    rng = Random(0)
    draws = [mean_of([rng.gauss(3, 2) for _ in range(5)]) for _ in range(2_000)]
    assert sum(one.low < 3 < one.high for one in draws) / len(draws) == pytest.approx(0.95, abs=0.02)


def test_what_the_seeds_share_falls_out() -> None:
    apart = [10.0, 20.0, 35.0]
    assert difference([one + 1 for one in apart], apart) == exactly(1)
    times = ratio([3 * one for one in apart], apart)
    assert (times.value, times.low, times.high) == pytest.approx((3, 3, 3), abs=ROUNDING)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        difference([1.0, 2.0], [1.0])


def test_a_ratio_with_one_seed_is_open() -> None:
    assert ratio([2.0], [1.0]).low == 0
    assert ratio([2.0], [1.0]).high > 1e300


@pytest.mark.parametrize(("count", "low", "high"), [(0, 0.0, 0.2775), (5, 0.2366, 0.7634), (10, 0.7225, 1.0)])
def test_a_share_of_ten_has_the_interval_of_wilson(count: int, low: float, high: float) -> None:
    one = share_of(count, 10)
    assert (one.value, one.low, one.high) == pytest.approx((count / 10, low, high), abs=5e-5)


@pytest.mark.parametrize(("count", "total"), [(1, 0), (3, 2), (-1, 2)])
def test_a_share_of_nothing_is_refused(count: int, total: int) -> None:
    with pytest.raises(InputError, match="a share needs cases"):
        share_of(count, total)


def test_a_slope_is_that_of_the_nearest_line() -> None:
    exact = slope([(x, 3 * x - 1) for x in range(5)])
    assert (exact.value, exact.low, exact.high) == pytest.approx((3, 3, 3), abs=ROUNDING)
    bent = slope([(0, 0), (1, 1), (2, 0)])
    assert bent.value == pytest.approx(0, abs=ROUNDING)
    assert bent.high == pytest.approx(12.706 * math.sqrt(2 / 3 / 1 / 2), abs=ROUNDING)
    with pytest.raises(InputError, match="3 points"):
        slope([(0, 0), (1, 1)])


def test_equal_values_share_their_rank() -> None:
    assert ranked([30, 10, 20, 20]) == [4, 1, 2.5, 2.5]


def test_order_alone_is_correlated() -> None:
    assert rank_correlation([1, 2, 3, 4], [1, 10, 100, 1_000]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 2, 3, 4], [2, 4, 1, 3]) == pytest.approx(0)
    assert math.isnan(rank_correlation([1, 2], [5, 5]))


def test_the_whole_interval_is_beyond_a_bound() -> None:
    one = Estimate(2, 1, 3)
    assert one.above(0.9)
    assert not one.above(1)
    assert one.below(3.1)
    assert not one.below(3)
    assert not one.exact
    assert exactly(2).exact
