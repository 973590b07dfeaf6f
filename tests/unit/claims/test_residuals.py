"""The rule of the claim, what its measurements see, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import regard
from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.controls import blocks, without_residuals
from regard.claims.lab.small_models import small_transformer
from regard.claims.setting import Setting
from regard.claims.tried import residuals
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k

LOST = {"loss_lost": (2.0, 1.8, 2.2), "lost_by_depth": (1.0, 0.8, 1.2)}
INVENTED: Invented = {
    "holds": {"gradient_ratio": (0.01, 0.001, 0.1), **LOST},
    "holds in part": {"gradient_ratio": (1.5, 0.7, 3.0), **LOST},
    "does not hold": {
        "gradient_ratio": (0.01, 0.001, 0.1), "loss_lost": (0.0, -0.02, 0.02), "lost_by_depth": (0.0, -0.02, 0.02),
    },
}  # fmt: skip


def test_the_rule_gives_every_verdict() -> None:
    check_rule("residuals", INVENTED)


def test_without_residuals_words_that_attend_alike_become_alike() -> None:
    task = clause_pairs(200, 1)
    source = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 0]])
    shares = []
    for change in (lambda _: None, without_residuals):
        model = small_transformer(task, Setting(), 0, dim=16, heads=2, feedforward=16)
        for block in blocks(model):  # all queries the same: every word gathers the same from the others
            with torch.no_grad():
                block.self_attention.qkv.weight[:16].zero_()
        change(model)
        shares.append(residuals.alike_share(model, source))
    assert shares[0] < 0.95
    assert shares[1] == pytest.approx(1, abs=64 * 16 * torch.finfo(torch.float32).eps)


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"dim": 8, "heads": 2, "feedforward": 8}
    small = {"PAIRS": 100, "QUICK": sizes, "FULL": sizes, "STEPS": 2, "FULL_STEPS": 2, "DEPTHS": (1, 2)}
    for name, value in {**small, "FULL_DEPTHS": (1, 2)}.items():
        monkeypatch.setattr(residuals, name, value)
    result = regard.claim("residuals").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert len(result.measurement.tables[0].rows) == 2
    assert "alike" in str(result)
