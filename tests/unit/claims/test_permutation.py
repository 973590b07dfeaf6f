"""The rule of the claim, and whether its measurement sees order where there is some to be seen."""

from __future__ import annotations

import pytest
import torch

import regard
from regard.claims.tried import permutation
from regard.claims.tried.permutation import ROUNDING, VISIBLE, Case, change_of, new_order
from tests.claim_cases import Invented, check_rule

NOTHING, SHOWS = 1e-16, (0.5, 0.3, 0.7)
INVENTED: Invented = {
    "holds": {"encoder": NOTHING, "decoder_of_1": NOTHING, "decoder_of_3": NOTHING},
    "holds in part": {"encoder": NOTHING, "decoder_of_1": NOTHING, "decoder_of_3": SHOWS},
    "does not hold": {"encoder": SHOWS, "decoder_of_1": SHOWS, "decoder_of_3": SHOWS},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("permutation", INVENTED)


@pytest.mark.parametrize("seed", range(3))
def test_an_order_is_another_one(seed: int) -> None:
    torch.manual_seed(seed)
    order = new_order(last_stays=True).tolist()
    assert order != list(range(permutation.WORDS))
    assert sorted(order) == list(range(permutation.WORDS))
    assert order[-1] == permutation.WORDS - 1


@pytest.mark.parametrize("seed", range(3))
def test_the_measurement_sees_positions_and_nothing_without_them(seed: int) -> None:
    assert change_of(Case("encoder", 2, "none"), 3, seed) <= ROUNDING
    assert change_of(Case("encoder", 2, "sinusoidal"), 3, seed) > VISIBLE


@pytest.mark.parametrize("seed", range(3))
def test_a_causal_mask_tells_order_from_the_second_layer_on(seed: int) -> None:
    assert change_of(Case("decoder", 1, "none"), 3, seed) <= ROUNDING
    assert change_of(Case("decoder", 2, "none"), 3, seed) > VISIBLE


@pytest.mark.parametrize("full", [False, True])
def test_it_holds_in_part(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "TEXTS", (4, 5))
    assert regard.claim("permutation").run(full=full, seeds=(0, 1)).verdict == "holds in part"
