"""The rule of the claim, losses that rise or do not, and both its forms in miniature."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import regard
from regard.claims.claim_names import claim_named
from regard.claims.lab import language_task
from regard.claims.lab.fit import Fit
from regard.claims.lab.language_task import fit_rows, grammar_rows, rows_loss, small_decoder
from regard.claims.setting import Setting
from regard.claims.tried import overfit
from regard.claims.tried.overfit import Case, Outcome
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_wikitext

MUCH, NOTHING = (0.8, 0.7, 0.9), (0.0, -0.02, 0.02)
INVENTED: Invented = {
    "holds": {"rise": MUCH, "rise_by_size": MUCH, "rise_by_text": MUCH},
    "holds in part": {"rise": MUCH, "rise_by_size": NOTHING, "rise_by_text": MUCH},
    "does not hold": {"rise": NOTHING, "rise_by_size": NOTHING, "rise_by_text": NOTHING},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("overfit", INVENTED)


def test_a_rise_is_from_the_lowest() -> None:
    assert Outcome(0.1, (3.0, 2.0, 2.5)).rise == 0.5
    assert Outcome(0.1, (3.0, 2.0, 1.5)).rise == 0.0


def test_a_few_rows_are_learned_by_heart_and_others_are_not() -> None:
    whole = grammar_rows(60)
    task = replace(whole.part(8, 0), valid=whole.valid[:20])
    model = small_decoder(task, 0, 32)
    before = rows_loss(model, task.train, "cpu")
    fit_rows(model, task, Fit(80, 8, 1e-2))
    assert rows_loss(model, task.train, "cpu") < before / 4
    assert rows_loss(model, task.valid, "cpu") > before / 2


def test_other_text_is_looked_at_as_training_goes_on_and_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    task = grammar_rows(60).part(8, 0)
    monkeypatch.setattr(language_task, "rows_loss", lambda model, rows, device: float(model.training))
    losses = fit_rows(small_decoder(task, 0, 8), task, Fit(20, 4, 1e-3))
    assert losses == [1.0] * 9 + [0.0]  # each second step but the first, and the end


@pytest.mark.parametrize(
    ("large", "small", "verdict"), [(0.8, 0.1, "holds"), (0.8, 0.8, "holds in part"), (0.0, 0.0, "does not hold")]
)
def test_the_measurement_compares_with_small_models_and_much_text(
    large: float, small: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Setting, case: tuple[Case, int]) -> Outcome:
        (dim, little), seed = case
        rise = (small if dim == overfit.DIMS[0] else large) if little else 0.0
        return Outcome(0.1, (3.0, 2.0, 2.0 + rise + seed / 1_000))

    monkeypatch.setattr(overfit, "run", run)
    claim = claim_named("overfit")
    assert claim.rule.verdict(claim.measure(Setting((0, 1, 2))).numbers) == verdict


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("", "FULL_"):
        monkeypatch.setattr(overfit, f"{form}DIMS", (8, 16))
        monkeypatch.setattr(overfit, f"{form}STEPS", 2)
    monkeypatch.setattr(overfit, "LITTLE", 4)
    if not full:
        monkeypatch.setattr(overfit, "language_task", lambda setting: grammar_rows(60))
    result = regard.claim("overfit").run(full=full, data=tiny_wikitext(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert [len(table.rows) for table in result.measurement.tables] == [2, 2]
    assert "4 rows of text" in str(result)
