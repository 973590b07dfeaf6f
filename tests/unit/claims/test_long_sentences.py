"""The rule of the claim, what its measurement sees, and both its forms in miniature."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import regard
from regard.claims.claim_names import claim_named
from regard.claims.setting import Setting
from regard.claims.tried import long_sentences
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k

MUCH, NOTHING = (0.5, 0.4, 0.6), (0.0, -0.05, 0.05)
INVENTED: Invented = {
    "holds": {"more_kept_by_2015": MUCH, "more_kept_by_2017": MUCH},
    "holds in part": {"more_kept_by_2015": NOTHING, "more_kept_by_2017": MUCH},
    "does not hold": {"more_kept_by_2015": NOTHING, "more_kept_by_2017": NOTHING},
}


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = dict.fromkeys(long_sentences.STEPS, 2)
    for name, value in {"PAIRS": 100, "TESTS": 12, "STEPS": steps, "FULL_STEPS": steps}.items():
        monkeypatch.setattr(long_sentences, name, value)


def test_the_rule_gives_every_verdict() -> None:
    check_rule("long-sentences", INVENTED)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(("of_2014", "verdict"), [((90, 70, 60, 40), "holds"), ((40, 39, 38, 38), "does not hold")])
def test_the_measurement_sees_what_is_lost_with_length_and_nothing_else(
    of_2014: tuple[float, ...], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {"2014": of_2014, "2015": (90.0, 89.0, 88.0, 87.0), "2017": (95.0, 95.0, 95.0, 94.0)}

    def run(_: Setting, case: tuple[str, int]) -> tuple[float, ...]:
        family, seed = case
        return tuple(score - seed / 10 for score in scores[family])

    monkeypatch.setattr(long_sentences, "run", run)
    claim = claim_named("long-sentences")
    assert claim.rule.verdict(claim.measure(Setting((0, 1, 2))).numbers) == verdict


@pytest.mark.usefixtures("little")
def test_groups_are_as_large_and_each_longer_than_the_last() -> None:
    task = long_sentences.task_of(Setting())
    groups = long_sentences.groups_of(Setting(), task)
    lengths = [[len(pair.source) for pair in group] for group in groups]
    assert {len(group) for group in groups} == {3}
    assert all(max(short) <= min(long) for short, long in pairwise(lengths))
    trained = {pair.source for pair in task.train}
    assert not any(pair.source in trained for group in groups for pair in group)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path) -> None:
    result = regard.claim("long-sentences").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert len(result.measurement.tables[0].rows) == 3
    assert "backwards" in str(result)
