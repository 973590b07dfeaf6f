"""The rule of the claim, and what it measures of weights that ignore zeros and of weights that do not."""

from __future__ import annotations

import pytest
import torch

import regard
from regard.claims.tried import zero_score
from regard.claims.tried.softmax import softmax_weights
from regard.claims.tried.zero_score import cut_at_zero, even_shares
from tests.claim_cases import Invented, check_rule

IGNORED, NOTICED = (0.001, 0.0, 0.002), (0.5, 0.4, 0.6)
NAMES = ("zero", "negative", "trained_negative")
INVENTED: Invented = {
    "holds": {**dict.fromkeys(NAMES, IGNORED), "moved_by_shift": 0.5},
    "holds in part": {**dict.fromkeys(NAMES, NOTICED), "trained_negative": IGNORED, "moved_by_shift": 0.0},
    "does not hold": {**dict.fromkeys(NAMES, NOTICED), "moved_by_shift": 1e-16},
}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero_score, "ROWS", (500, 600))
    monkeypatch.setattr(zero_score, "SENTENCES", (3, 4))


def test_the_rule_gives_every_verdict() -> None:
    check_rule("zero-score", INVENTED)


def test_an_even_share_is_1_and_what_is_hidden_does_not_count() -> None:
    scores = torch.tensor([[0.0, 0.0, 0.0, -torch.inf]], dtype=torch.float64)
    visible = scores > -torch.inf
    assert even_shares(scores.softmax(-1), scores == 0, visible).tolist() == pytest.approx([1, 1, 1])
    assert even_shares(scores.softmax(-1), scores < 0, visible).tolist() == []


def test_the_measurement_tells_what_ignores_from_what_does_not() -> None:
    scores = torch.tensor([[0.0, 2.0, -1.0]], dtype=torch.float64)
    visible = torch.ones_like(scores, dtype=torch.bool)
    assert even_shares(cut_at_zero(scores), scores <= 0, visible).tolist() == [0, 0]
    assert min(even_shares(softmax_weights(scores), scores <= 0, visible).tolist()) > 0.05


@pytest.mark.parametrize("full", [False, True])
def test_it_does_not_hold(full: bool) -> None:
    """Even shares are measured of softmax itself, so few rows are enough."""
    result = regard.claim("zero-score").run(full=full)
    assert set(result.measurement.numbers) == {*NAMES, "moved_by_shift"}
    assert result.measurement.numbers["moved_by_shift"].value <= zero_score.ROUNDING
    assert result.measurement.numbers["zero"].above(zero_score.NOTICED)
    assert "a multiple of an even share" in str(result)
