"""The rule of the claim, and chains of models whose words wait, or do not."""

from __future__ import annotations

import pytest

import regard
from regard.claims.lab.families import FAMILIES, translator
from regard.claims.lab.pair_task import grammar_pairs
from regard.claims.setting import Setting
from regard.claims.tried import sequential
from regard.claims.tried.sequential import RECURRENT, TASKS, chains, drawn_batch
from tests.claim_cases import Invented, check_rule

WAITS, DOES_NOT = 1.0, 0.0
TIMES = {
    **{f"{name}_{family}": (1.0, 0.9, 1.1) for name in TASKS for family in FAMILIES},
    "training_2017": (0.2, 0.1, 0.3),
}
CHAINS = {f"chain_{name}_{family}": WAITS for name in TASKS for family in FAMILIES}
INVENTED: Invented = {
    "holds": {**TIMES, **CHAINS, "chain_training_2017": DOES_NOT, "chain_decoding_2017": DOES_NOT},
    "holds in part": {**TIMES, **CHAINS, "chain_training_2017": DOES_NOT},
    "does not hold": {**TIMES, **CHAINS},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("sequential", INVENTED)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_measurement_sees_which_words_wait(family: str) -> None:
    task = grammar_pairs(sequential.SENTENCES)
    model = translator(family, task, Setting(), 0).double()
    shorter, longer = (chains(model, drawn_batch(task, length, 0, "cpu")) for length in (6, 12))
    if family in RECURRENT:
        assert longer["training"] - shorter["training"] >= 6
    else:
        assert longer["training"] == shorter["training"]
    assert longer["decoding"] - shorter["decoding"] >= 6


@pytest.mark.parametrize("full", [False, True])
def test_it_is_tried_in_both_forms(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequential, "LENGTHS", ((2, 4), (2, 3)))
    monkeypatch.setattr(sequential, "ROUNDS", (1, 1))
    monkeypatch.setattr(sequential, "CHAINED", (3, 6))
    monkeypatch.setattr("regard.claims.lab.small_models.FULL", {**QUICKER})
    result = regard.claim("sequential").run(full=full)
    assert set(result.measurement.numbers) == set(TIMES) | set(CHAINS)
    assert result.verdict == "holds in part"


QUICKER = {"dim": 16, "heads": 2, "feedforward": 32, "encoder_layers": 1, "decoder_layers": 1}
