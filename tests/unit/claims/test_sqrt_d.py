"""The rule of the claim, gradients and entropies where they are known, and both its forms in miniature."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

import regard
from regard.claims.claim_names import claim_named
from regard.claims.lab import small_models
from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.controls import blocks, scaled_by
from regard.claims.lab.pair_task import batch_of
from regard.claims.lab.small_models import small_transformer
from regard.claims.lab.watching import mean_entropy
from regard.claims.setting import Setting
from regard.claims.tried import sqrt_d
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k

INVENTED: Invented = {
    "holds": {"gradient_ratio": (8.0, 6.0, 11.0), "loss_gained": (0.5, 0.2, 0.8)},
    "holds in part": {"gradient_ratio": (3.0, 2.5, 3.6), "loss_gained": (0.1, -0.2, 0.4)},
    "does not hold": {"gradient_ratio": (0.2, 0.1, 0.4), "loss_gained": (0.5, 0.2, 0.8)},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("sqrt-d", INVENTED)


def test_the_division_is_what_differs() -> None:
    """The scores without it are √d times as large: the same weights come of a scale that is √d times as small."""
    task = clause_pairs(60, 1, 10)
    batch = batch_of(task.test)
    model = small_transformer(task, Setting(), 0, dim=64, heads=1).double().eval()

    def logits(scale: float) -> torch.Tensor:
        with scaled_by(model, scale), torch.no_grad():
            return model(batch.source, batch.target)

    usual = logits(1 / math.sqrt(64))
    with torch.no_grad():
        torch.testing.assert_close(usual, model(batch.source, batch.target))
        for block in blocks(model):
            for layer in (block.self_attention.qkv, getattr(block.cross_attention, "q", None)):
                if layer is not None:
                    layer.weight[:64] *= 1 / math.sqrt(64)
                    layer.bias[:64] *= 1 / math.sqrt(64)
    torch.testing.assert_close(logits(1.0), usual)


def test_weights_of_large_scores_have_a_low_entropy_and_rows_of_equal_ones_the_highest() -> None:
    task = clause_pairs(60, 1, 10)
    batch = batch_of(task.test[:1])
    model = small_transformer(task, Setting(), 0, dim=64, heads=1)
    entropies = []
    for scale in (0.0, 1 / 8, 1.0, 1e4):
        with scaled_by(model, scale):
            entropies.append(mean_entropy(model, batch.source, batch.target))
    assert entropies == sorted(entropies, reverse=True)
    assert entropies[-1] < 0.05
    rows, columns = batch.target.shape[1], batch.source.shape[1]
    seen = [columns] * 2 * columns + [*range(1, rows + 1)] * 2 + [columns] * 2 * rows
    wanted = math.fsum(map(math.log, seen)) / len(seen)
    assert entropies[0] == pytest.approx(wanted, rel=1e-5)  # of float32 logarithms


def test_before_any_step_nothing_is_trained() -> None:
    case = sqrt_d.Case(16, True, trained=False)
    one = sqrt_d.run(Setting(), (case, 0))
    assert one.gradient > 0
    assert math.isnan(one.loss)
    assert one == pytest.approx(sqrt_d.run(Setting(), (case, 0)), nan_ok=True)


@pytest.mark.parametrize(
    ("gradient", "lost", "verdict"), [(4.0, 0.5, "holds"), (4.0, 0.0, "holds in part"), (0.5, 0.5, "does not hold")]
)
def test_the_measurement_compares_with_the_division(
    gradient: float, lost: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Setting, case: tuple[sqrt_d.Case, int]) -> sqrt_d.Outcome:
        (dim, scaled, trained), seed = case
        times, loss = (1.0, 1.0) if scaled else (gradient, 1.0 + lost + (seed - 1) / 1_000)
        return sqrt_d.Outcome(times * dim + seed / 10, 1.0, loss if trained else math.nan)

    monkeypatch.setattr(sqrt_d, "run", run)
    claim = claim_named("sqrt-d")
    assert claim.rule.verdict(claim.measure(Setting((0, 1, 2))).numbers) == verdict


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_models, "FULL", small_models.QUICK)
    small = {"STARTS": (8, 16), "DIMS": (8, 16), "FULL_DIMS": (8, 16), "QUICK": (2, 4, 1e-3), "FULL": (2, 4, 1e-3)}
    for name, value in {**small, "PAIRS": 60, "TESTS": 10}.items():
        monkeypatch.setattr(sqrt_d, name, value)
    result = regard.claim("sqrt-d").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == {*INVENTED["holds"], "gradient_ratio_before"}
    assert [len(table.rows) for table in result.measurement.tables] == [2, 2]
    assert "entropy" in str(result)
