"""The rule of the claim, what its measurement sees, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.claims.lab import label_task, text_stacks
from regard.claims.setting import Setting
from regard.claims.tried import pre_training
from tests.claim_cases import Invented, check_rule
from tests.label_cases import counting, tiny_reviews

MUCH, NOTHING = (12.0, 9.0, 15.0), (0.5, -1.0, 2.0)
INVENTED: Invented = {
    "holds": {"gained_with_50": MUCH, "gained_with_200": MUCH, "gained_with_1000": MUCH},
    "holds in part": {"gained_with_50": MUCH, "gained_with_200": MUCH, "gained_with_1000": NOTHING},
    "does not hold": {"gained_with_50": NOTHING, "gained_with_200": NOTHING, "gained_with_1000": NOTHING},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("pre-training", INVENTED)


@pytest.mark.parametrize(("gain", "verdict"), [(20.0, "holds"), (0.0, "does not hold")])
def test_the_measurement_compares_with_fresh_weights(
    gain: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pretended(setting: Setting, seed: int) -> pre_training.Shares:
        fresh = tuple(share + seed for share in (50.0, 60.0, 70.0, 75.0))
        return pre_training.Shares(fresh, tuple(share + gain for share in fresh), tuple(share - 5 for share in fresh))

    monkeypatch.setattr(pre_training, "run", pretended)
    monkeypatch.setattr(pre_training, "label_task", lambda *_: counting())
    result = regard.claim("pre-training").run(seeds=[0, 1])
    assert result.verdict == verdict
    assert result.measurement.numbers["gained_with_200"].value == pytest.approx(gain)
    assert result.measurement.numbers["gained_layer_by_layer_with_200"].value == pytest.approx(-5 - gain)


def test_with_one_start_for_both_nothing_is_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the language is not learned, what comes of fresh weights comes of these."""
    monkeypatch.setattr(pre_training, "learn_language", lambda *_: None)
    shrink(monkeypatch)
    shares = pre_training.run(Setting(), 0)
    assert shares.fresh == shares.alike


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)
    result = regard.claim("pre-training").run(full=full, data=tiny_reviews(tmp_path), seeds=[0, 1])
    assert set(INVENTED["holds"]) < set(result.measurement.numbers)
    assert [len(table.rows) for table in result.measurement.tables] == [4, 4]
    assert "commonest" in str(result)


def shrink(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, models and steps."""
    sizes = {"dim": 8, "heads": 2, "feedforward": 8, "layers": 1, "dropout": 0.0}
    for name in ("QUICK", "FULL"):
        monkeypatch.setattr(text_stacks, name, sizes)
        monkeypatch.setattr(pre_training, name, (2, 4, 1e-2))
        monkeypatch.setattr(pre_training, f"{name}_STEPS", (2, 2, 2, 2))
    few = label_task.grammar_labels("first noun", 300, 20)
    monkeypatch.setattr(label_task, "grammar_labels", lambda _: few)
