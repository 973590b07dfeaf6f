"""The rule of the claim, lines that are straight or bent, and both its forms in miniature."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import regard
from regard.claims.claim_names import claim_named
from regard.claims.lab.language_task import grammar_rows, rate_for, small_decoder
from regard.claims.lab.small_models import parameters
from regard.claims.setting import Setting
from regard.claims.tried import scales
from regard.claims.tried.scales import Case, Outcome, bend, part_of
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_wikitext

STEEP, LEVEL = (-0.1, -0.12, -0.08), (0.0, -0.005, 0.005)
STRAIGHT, BENT = (0.01, 0.0, 0.02), (0.2, 0.15, 0.25)
LINES = {"slope_by_size": STEEP, "slope_by_words": STEEP, "bend_by_size": STRAIGHT, "bend_by_words": STRAIGHT}
INVENTED: Invented = {
    "holds": LINES,
    "holds in part": {**LINES, "bend_by_words": BENT},
    "does not hold": {**LINES, "slope_by_size": LEVEL, "slope_by_words": LEVEL},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("scales", INVENTED)


def test_a_loss_that_does_not_fall_with_text_is_half_of_it() -> None:
    check_rule("scales", {**INVENTED, "holds in part": {**LINES, "slope_by_words": LEVEL}})


def test_a_bend_is_a_share_of_the_whole_fall() -> None:
    assert bend([(0, 3.0), (1, 2.0), (2, 1.0)]) == pytest.approx(0, abs=1e-12)
    assert bend([(0, 0.0), (1, -1.0), (2, -1.0)]) == pytest.approx(1 / 3)
    assert bend([(0, 1.0), (1, 1.0), (2, 1.0)]) == 0


def test_the_bound_is_where_the_last_third_is_half_as_steep_as_the_first() -> None:
    """As the claim says of it: 4 points, each slope between the two a step less."""
    falls = (1.0, 0.75, 0.5)
    points = [(float(place), -math.fsum(falls[:place])) for place in range(4)]
    assert bend(points) == pytest.approx(scales.STRAIGHT, abs=0.01)


def test_larger_models_are_larger_and_learn_more_slowly() -> None:
    task = grammar_rows(60)
    sizes = [parameters(model) - parameters(model.embedding) for dim in scales.DIMS for model in
             [small_decoder(task, 0, dim)]]  # fmt: skip
    assert sizes == sorted(set(sizes))
    rates = [rate_for(dim) for dim in scales.DIMS]
    assert rates == sorted(set(rates), reverse=True)


def test_less_text_is_drawn_anew_for_each_seed_and_the_rows_kept_aside_stay() -> None:
    task = grammar_rows(60)
    parts = [part_of(task, 1 / 4, seed) for seed in (0, 0, 1)]
    assert [len(one.train) for one in parts] == [15, 15, 15]
    assert parts[0] == parts[1] != parts[2]
    assert set(parts[2].train) <= set(task.train)
    assert all(one.valid == task.valid for one in parts)


def outcome_of(fall: float, floor: float) -> object:
    """The loss falls with a power of size and words, and bends upwards towards a floor."""

    def run(_: Setting, case: tuple[Case, int]) -> Outcome:
        (dim, share), seed = case
        loss = 4 * (dim / 8) ** fall * share**fall + floor
        return Outcome(100 * dim, round(1e5 * share), loss + seed / 1_000)

    return run


@pytest.mark.parametrize(
    ("fall", "floor", "verdict"),
    [(-0.1, 0.0, "holds"), (-1.0, 2.0, "holds in part"), (0.0, 1.0, "does not hold")],
)
def test_the_measurement_sees_lines_and_bends(
    fall: float, floor: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scales, "run", outcome_of(fall, floor))
    claim = claim_named("scales")
    measured = claim.measure(Setting((0, 1, 2)))
    assert claim.rule.verdict(measured.numbers) == verdict
    if not floor:
        assert measured.numbers["slope_by_size"].value == pytest.approx(fall, abs=0.01)


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("", "FULL_"):
        monkeypatch.setattr(scales, f"{form}DIMS", (8, 16, 24))
        monkeypatch.setattr(scales, f"{form}STEPS", 2)
        monkeypatch.setattr(scales, f"{form}TEXTS", (1 / 4, 1 / 2, 1.0))
    if not full:
        monkeypatch.setattr(scales, "language_task", lambda setting: grammar_rows(60))
    result = regard.claim("scales").run(full=full, data=tiny_wikitext(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(LINES)
    assert [len(table.rows) for table in result.measurement.tables] == [3, 3, 2]
    assert "straight lines" in str(result)
