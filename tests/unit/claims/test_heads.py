"""The rule of the claim, what its measurement sees, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.claims.setting import Setting
from regard.claims.tried import heads
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k
from tests.variant_cases import learn_little, verdict_of_losses

MUCH, NOTHING = (0.3, 0.2, 0.4), (0.0, -0.02, 0.02)
INVENTED: Invented = {
    "holds": {"gained_by_2": MUCH, "gained_by_4": MUCH, "gained_by_8": MUCH},
    "holds in part": {"gained_by_2": MUCH, "gained_by_4": MUCH, "gained_by_8": NOTHING},
    "does not hold": {"gained_by_2": NOTHING, "gained_by_4": NOTHING, "gained_by_8": NOTHING},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("heads", INVENTED)


def test_the_measurement_compares_with_one_head(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict_of_losses(monkeypatch, heads, {1: 1.3, 2: 1.0, 4: 1.0, 8: 1.0}) == "holds"
    assert verdict_of_losses(monkeypatch, heads, {1: 1.0, 2: 1.3, 4: 1.0, 8: 1.0}) == "does not hold"


def test_the_models_differ_in_their_heads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    learn_little(monkeypatch)
    sizes = {heads.run(Setting(), (count, 0)).size for count in heads.HEADS}
    assert len(sizes) == 1


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_little(monkeypatch)
    monkeypatch.setattr(heads, "HEADS", (1, 2))
    monkeypatch.setattr(heads, "SEVERAL", (2,))
    result = regard.claim("heads").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == {"gained_by_2"}
    assert len(result.measurement.tables[0].rows) == 2
    assert "guess" in str(result)
