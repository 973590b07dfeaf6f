"""The rule of the claim, what its measurement sees, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import regard
from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.controls import blocks
from regard.claims.lab.small_models import parameters
from regard.claims.lab.variants import variant_model
from regard.claims.setting import Setting
from regard.claims.tried import feed_forward
from regard.claims.tried.feed_forward import LINEAR, MORE_ATTENTION, VARIANTS, WITH, WITHOUT
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k
from tests.variant_cases import learn_little, verdict_of_losses

MUCH, NOTHING = (0.3, 0.2, 0.4), (0.0, -0.02, 0.02)
INVENTED: Invented = {
    "holds": {"linear": MUCH, "attention_instead": MUCH},
    "holds in part": {"linear": MUCH, "attention_instead": NOTHING},
    "does not hold": {"linear": NOTHING, "attention_instead": NOTHING},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("feed-forward", INVENTED)


def test_the_measurement_compares_with_the_usual_model(monkeypatch: pytest.MonkeyPatch) -> None:
    worse = dict.fromkeys(VARIANTS, 1.3)
    assert verdict_of_losses(monkeypatch, feed_forward, {**worse, WITH: 1.0}) == "holds"
    assert verdict_of_losses(monkeypatch, feed_forward, {**worse, WITHOUT: 2.0}) == "does not hold"


def test_without_the_non_linearity_the_layer_is_linear() -> None:
    curved = {}
    for name in (WITH, LINEAR, WITHOUT):
        model = variant_model(Setting(), clause_pairs(100, 1), 0)
        VARIANTS[name].change(model)
        layer = blocks(model)[0].feedforward.double()
        x = torch.randn(5, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            curved[name] = float((layer(x) + layer(-x) - 2 * layer(0 * x)).abs().max())
    assert curved[WITH] > 1e-2
    assert curved[LINEAR] < 64 * 128 * torch.finfo(torch.float64).eps
    assert curved[WITHOUT] == 0


@pytest.mark.parametrize("full", [False, True])
def test_attention_instead_has_as_many_parameters(full: bool) -> None:
    sizes = []
    for name in (WITH, MORE_ATTENTION):
        variant = VARIANTS[name]
        layers = variant.full_layers if full else variant.quick_layers
        model = variant_model(Setting(full=full), clause_pairs(100, 1), 0, layers)
        variant.change(model)
        sizes.append(sum(parameters(part) for part in blocks(model)))
    assert sizes[1] == pytest.approx(sizes[0], rel=0.02)


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_little(monkeypatch)
    result = regard.claim("feed-forward").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert len(result.measurement.tables[0].rows) == len(VARIANTS)
    assert "guess" in str(result)
