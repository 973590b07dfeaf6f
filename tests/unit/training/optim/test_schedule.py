"""Learning rates, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.training.optim.schedule import rate_at
from regard.training.recipe.recipe import Training


@given(st.integers(1, 1000), st.integers(1, 200), st.integers(1, 20_000))
def test_the_rate_of_the_paper(dim: int, warmup: int, step: int) -> None:
    how = Training(rate=(dim * warmup) ** -0.5, warmup=warmup, schedule="inverse-root")
    by_hand = dim**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert rate_at(step, how) == pytest.approx(by_hand)


SCHEDULES = st.sampled_from(["cosine", "linear", "constant", "inverse-root"])


@given(SCHEDULES, st.integers(0, 50), st.integers(1, 200), st.floats(0, 0.9))
def test_rates_rise_to_the_peak_and_never_again(schedule: str, warmup: int, steps: int, floor: float) -> None:
    how = Training(rate=0.5, warmup=warmup, steps=steps, schedule=schedule, floor=floor)
    rates = [rate_at(step, how) for step in range(1, steps + 1)]
    assert all(0 <= rate <= 0.5 + 1e-12 for rate in rates)
    assert rates[: max(warmup - 1, 0)] == [0.5 * step / warmup for step in range(1, min(warmup, steps + 1))]
    after = rates[max(warmup, 1) - 1 :]
    assert after == sorted(after, reverse=True)
    if 0 < warmup <= steps:
        assert rates[warmup - 1] == pytest.approx(0.5)


@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_a_cosine_and_a_line_end_at_the_floor(floor: float) -> None:
    for schedule, middle in (("cosine", 0.5), ("linear", 0.5), ("constant", 1.0)):
        how = Training(rate=2.0, warmup=10, steps=110, schedule=schedule, floor=floor)
        assert rate_at(60, how) == pytest.approx(2.0 * (floor + (1 - floor) * middle))
        assert rate_at(110, how) == pytest.approx(2.0 if schedule == "constant" else 2.0 * floor)
    assert rate_at(35, Training(rate=1.0, warmup=10, steps=110)) == pytest.approx((1 + math.cos(math.pi / 4)) / 2)
