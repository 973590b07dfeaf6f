"""The rule of the claim, how time is shared out, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import regard
from regard.claims.claim_names import claim_named
from regard.claims.lab import small_models
from regard.claims.lab.families import FAMILIES, translator
from regard.claims.lab.pair_task import batches
from regard.claims.setting import Setting
from regard.claims.tried import better
from regard.claims.tried.better import BEFORE, Case, step_times, steps_in_time, train_on
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k

MUCH, NOTHING = (20.0, 15.0, 25.0), (-0.5, -1.0, 0.5)
LONG, IN_TIME = ([f"gain_over_{one}_{how}" for one in BEFORE] for how in ("long", "in_time"))
INVENTED: Invented = {
    "holds": dict.fromkeys(LONG + IN_TIME, MUCH),
    "holds in part": {**dict.fromkeys(LONG, NOTHING), **dict.fromkeys(IN_TIME, MUCH)},
    "does not hold": dict.fromkeys(LONG + IN_TIME, NOTHING),
}
QUICK_2014 = {"2014": [0.5] * 11, "2015": [2.0] * 11, "2017": [1.0] * 11}  # seconds


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = dict.fromkeys(FAMILIES, 2)
    for name, value in {
        "PAIRS": 100, "TESTS": 12, "LONG": steps, "FULL_LONG": steps, "SHORT": 2, "FULL_SHORT": 2, "ROUNDS": 1,
        "TIMED": 1,
    }.items():  # fmt: skip
        monkeypatch.setattr(better, name, value)
    monkeypatch.setattr("regard.claims.lab.families.FULL_BATCH", 4)
    monkeypatch.setattr(small_models, "FULL", {**small_models.QUICK, "dim": 16, "feedforward": 16})


def test_the_rule_gives_every_verdict() -> None:
    check_rule("better", INVENTED)


def test_who_is_quicker_makes_more_steps_in_the_same_time() -> None:
    assert steps_in_time(Setting(), QUICK_2014) == {"2014": 600, "2015": 150, "2017": 300}
    disturbed = {name: [*ones[:-2], 50.0, 0.001] for name, ones in QUICK_2014.items()}
    assert steps_in_time(Setting(), disturbed) == steps_in_time(Setting(), QUICK_2014)


@pytest.mark.usefixtures("little")
def test_what_is_timed_is_training_itself() -> None:
    """All families on the same pairs, each as often."""
    task = better.task_of(Setting())
    some = [next(batches(task.train, 8, 0))] * 3
    for family in FAMILIES:
        model = translator(family, task, Setting(), 0)
        before = [one.clone() for one in model.parameters()]
        train_on(model, some)
        assert not any(torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))
    assert {name: len(ones) for name, ones in step_times(Setting(), 0).items()} == dict.fromkeys(FAMILIES, 1)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(
    ("long", "in_time", "verdict"),
    [(60.0, 20.0, "holds"), (90.0, 20.0, "holds in part"), (90.0, 90.0, "does not hold")],
)
def test_the_measurement_sees_who_is_better_at_what(
    long: float, in_time: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {}

    def run(_: Setting, case: tuple[Case, int]) -> float:
        (family, how, steps[how, family]), seed = case
        return (90.0 if family == "2017" else {"long": long, "in time": in_time}[how]) - seed / 10

    monkeypatch.setattr(better, "run", run)
    monkeypatch.setattr(better, "step_times", lambda *_: QUICK_2014)
    claim = claim_named("better")
    assert claim.rule.verdict(claim.measure(Setting((0, 1, 2))).numbers) == verdict
    assert [steps["in time", family] for family in FAMILIES] == [4, 1, 2]
    assert {steps["long", family] for family in FAMILIES} == {2}


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(better, "steps_in_time", lambda *_: dict.fromkeys(FAMILIES, 2))  # whatever the clock said
    result = regard.claim("better").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert len(result.measurement.tables[0].rows) == 3
    assert ("none of them learns whole" in " ".join(str(result).split())) == (not full)
