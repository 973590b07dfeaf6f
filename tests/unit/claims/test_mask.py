"""The rule of the claim, and whether its measurement sees the future where it is not hidden."""

from __future__ import annotations

import pytest
import torch

import regard
from regard.claims.lab.attention_backends import WAYS
from regard.claims.tried import mask
from regard.claims.tried.mask import hidden_by, leak_of, lowered, model_leak
from tests.claim_cases import Invented, check_rule

INVENTED: Invented = {
    "holds": {"weight": 0.0, "gradient": 0.0, "output": 1e-16},
    "holds in part": {"weight": 0.0, "gradient": 0.0, "output": 0.1},
    "does not hold": {"weight": 0.2, "gradient": 0.3, "output": 0.1},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("mask", INVENTED)


@pytest.mark.parametrize("backend", WAYS)
def test_minus_infinity_lets_nothing_through(backend: str) -> None:
    leak = leak_of(hidden_by(backend), 3, torch.Generator().manual_seed(1))
    assert leak.weight == leak.gradient == 0
    assert leak.output <= mask.ROUNDING


@pytest.mark.parametrize("stop", [0.0, 5.0])
def test_the_measurement_sees_what_is_let_through(stop: float) -> None:
    assert min(leak_of(lowered(stop), 3, torch.Generator().manual_seed(1))) > mask.VISIBLE


def test_a_whole_decoder_hides_the_future_only_while_it_masks() -> None:
    assert model_leak(2, 0).gradient == 0
    assert model_leak(2, 0, causal=False).gradient > mask.VISIBLE
    assert model_leak(2, 0, causal=False).output > mask.VISIBLE


@pytest.mark.parametrize("full", [False, True])
def test_it_holds(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask, "DRAWS", (3, 4))
    result = regard.claim("mask").run(full=full)
    assert result.verdict == "holds"
    assert "`attend` gives 0." in result.to_dict()["remarks"][0]
