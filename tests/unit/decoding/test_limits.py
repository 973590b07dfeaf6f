"""Limits: what may be said at each place, when a text ends, and which lengths make no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding import Hypothesis, Limits
from regard.errors import InputError
from tests.bounds import logs_apart
from tests.unit.decoding.tables import log_probabilities

LOGITS = [0.5, -1.0, 2.0, 0.0, 1.0]
NEVER = float("-inf")


@pytest.mark.parametrize(("longest", "shortest"), [(0, 0), (-1, 0), (3, 4), (3, -1)])
def test_lengths_that_no_text_could_have(longest: int, shortest: int) -> None:
    with pytest.raises(InputError, match=rf"found: shortest={shortest}, longest={longest}"):
        Limits(longest, shortest=shortest)


@pytest.mark.parametrize("lengths", [{"longest": 2.5}, {"longest": float("inf")}, {"longest": 3, "shortest": 1.5}])
def test_lengths_are_whole_numbers(lengths: Any) -> None:
    with pytest.raises(InputError, match="longest"):
        Limits(**lengths)


@settings(max_examples=200)
@given(st.data())
def test_what_may_be_said_is_as_written_down_plainly(data: st.DataObject) -> None:
    draw = data.draw
    ids = st.integers(0, 4)
    longest = draw(st.integers(1, 5))
    limits = Limits(
        longest, tuple(draw(st.lists(ids, max_size=2))), draw(st.integers(0, longest)),
        tuple(draw(st.lists(ids, max_size=2))), draw(st.none() | ids), draw(st.booleans()),
    )  # fmt: skip
    logits = tuple(draw(st.lists(st.floats(-20, 20, width=32), min_size=5, max_size=5)))
    step = draw(st.integers(0, longest - 1))
    found = limits.log_probabilities(torch.tensor([logits]), step)[0].tolist()
    expected = log_probabilities(logits, limits, step)
    assert found == pytest.approx([expected.get(i, NEVER) for i in range(5)], abs=logs_apart(5, 40.0))


def test_logits_become_log_probabilities() -> None:
    found = Limits(3).log_probabilities(torch.tensor([LOGITS, LOGITS]), 0)
    assert found.exp().sum(-1).tolist() == pytest.approx([1.0, 1.0], abs=logs_apart(5, 5.0))
    assert (found[0, 2] - found[0, 3]).item() == pytest.approx(2.0, abs=logs_apart(5, 5.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(dtype: torch.dtype) -> None:
    assert Limits(3).log_probabilities(torch.tensor([LOGITS], dtype=dtype), 0).dtype == torch.float32


@pytest.mark.parametrize(("shortest", "allowed"), [(0, 0), (1, 0), (2, 1), (4, 3)])
def test_the_shortest_counts_the_end(shortest: int, allowed: int) -> None:
    """A text of `shortest` ids has its end at that place, and not before."""
    limits = Limits(6, (1, 3), shortest)
    for step in range(6):
        logs = limits.log_probabilities(torch.tensor([LOGITS]), step)[0]
        assert (logs[[1, 3]] > NEVER).all() == (step >= allowed)
        assert (logs[[0, 2, 4]] > NEVER).all()


def test_the_closing_id_is_forced_at_the_last_place_at_no_cost() -> None:
    limits = Limits(3, (1,), closing=4)
    logs = limits.log_probabilities(torch.tensor([LOGITS]), 2)[0].tolist()
    assert logs == [NEVER, NEVER, NEVER, NEVER, 0.0]
    assert limits.log_probabilities(torch.tensor([LOGITS]), 1).isfinite().all()


def test_the_banned_keep_their_share_unless_told() -> None:
    plain, renormalised = (
        Limits(3, banned=(2,), renormalised=how).log_probabilities(torch.tensor([LOGITS]), 0)[0]
        for how in (False, True)
    )
    everything = torch.tensor(LOGITS).softmax(0)
    assert plain.exp().sum().item() == pytest.approx(1 - everything[2].item(), abs=logs_apart(5, 5.0))
    assert renormalised.exp().sum().item() == pytest.approx(1.0, abs=logs_apart(5, 5.0))
    assert plain[2] == renormalised[2] == NEVER


def test_the_logits_are_left_alone() -> None:
    logits = torch.tensor([LOGITS])
    Limits(3, (1,), 3, (2,)).log_probabilities(logits, 0)
    assert logits.tolist() == [LOGITS]


@pytest.mark.parametrize(
    ("ends", "ids", "text", "end"),
    [
        ((), [5, 6, 7], (5, 6, 7), None),
        ((2,), [5, 2, 7], (5,), 2),
        ((2,), [2, 5, 2], (), 2),
        ((2, 9), [5, 6, 9, 2], (5, 6), 9),
        ((2,), [5, 6], (5, 6), None),
        ((2,), [], (), None),
        ((0,), [5, 0], (5,), 0),
    ],
)
def test_a_text_is_what_comes_before_its_first_end(
    ends: tuple[int, ...], ids: list[int], text: tuple[int, ...], end: int | None
) -> None:
    assert Limits(9, ends).hypothesis(ids, -1.5) == Hypothesis(text, -1.5, end)


def test_which_ids_end_a_text() -> None:
    ids = torch.tensor([[1, 2], [3, 9]])
    assert Limits(3, (2, 9)).ends(ids).tolist() == [[False, True], [False, True]]
    assert not Limits(3).ends(ids).any()


def test_probabilities_stay_exact_for_large_logits() -> None:
    found = Limits(3).log_probabilities(torch.tensor([[1e4, 1e4 - 1, 0.0]]), 0)[0].tolist()
    assert found[0] == pytest.approx(-math.log(1 + math.exp(-1)), abs=logs_apart(3, 1.0))
    assert math.isfinite(found[2])
