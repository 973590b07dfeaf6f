"""A budget from the call to the scores, on a clock that only moves when something is done."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.errors import InputError
from regard.training import Outcome, train
from regard.training.loop import clock as clock_module
from regard.training.loop import loop, validation
from regard.training.loop.checkpoint_files import checkpoints
from regard.training.optim.updates import Update
from regard.training.plan import planning
from regard.training.plan.planning import Planner
from regard.training.plan.probe import Probe, Speed
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Event, Note, Planned, Saved, Started, Stepped, Validated
from tests.training_cases import RANDOM, TINY, EventRecorder, Stop, go, left_by, same, settings

run = import_module("regard.training.train")  # the name in the package is the function
SIZES = {key: value for key, value in TINY.items() if key.startswith(("model.", "tokenizer.", "decoding."))}
BUDGET = {**SIZES, **RANDOM, "training.batch_tokens": 256}
MINUTES = 0.5


class Clock:
    """Stands in for the module `time`: what the run does takes as long as it is said to."""

    def __init__(self, step: Callable[[int], float] = lambda step: 0.5, validation: float = 0.5) -> None:
        self.now, self.step, self.validation = 1000.0, step, validation

    def monotonic(self) -> float:
        return self.now

    def put_in(self, patch: pytest.MonkeyPatch) -> Clock:
        for module in (clock_module, planning, run, validation):
            patch.setattr(module, "time", self)
        update, validate = Update.__call__, validation.Validation.__call__

        def slow_update(one: Update, batch: Any, step: int) -> Any:
            self.now += self.step(step)
            return update(one, batch, step)

        def slow_validation(one: Any, step: int) -> Any:
            self.now += self.validation
            return validate(one, step)

        patch.setattr(Update, "__call__", slow_update)
        patch.setattr(validation.Validation, "__call__", slow_validation)
        patch.setattr(loop, "REPORT_EVERY", 0.0)
        patch.setattr(Planner, "speed", lambda planner, recipe: self.speed(recipe))
        return self

    def speed(self, recipe: Recipe) -> Speed:
        self.now += 1.0
        return Speed(self.step(1), 1.4 * recipe.training.batch_tokens, 1000, "a model")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock().put_in(monkeypatch)


def brief(corpus: Path, folder: Path, *more: dict[str, Any], listener: Any = lambda event: None) -> Outcome:
    how = settings(BUDGET, *more)
    return train(str(corpus), folder, settings=how, minutes=MINUTES, device="cpu", threads=1, listener=listener)


def as_measured(clock: Clock, folder: Path) -> Callable[[Event], None]:
    """A listener by which a validation takes just as long as the plan says."""

    def listener(event: Event) -> None:
        if isinstance(event, Planned):
            clock.validation = effective(folder)["validation"]

    return listener


def effective(folder: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((folder / "run.json").read_text())["plan"]
    return plan


def test_it_ends_in_time_and_the_folder_says_how(corpus: Path, tmp_path: Path, clock: Clock) -> None:
    heard, steady = EventRecorder(), as_measured(clock, tmp_path)
    outcome = brief(corpus, tmp_path, listener=lambda event: (heard(event), steady(event)))
    assert outcome.status == "finished"
    assert clock.now - 1000 <= MINUTES * 60
    planned = heard.of(Planned)[0]
    assert planned.minutes == MINUTES
    assert heard.events.index(planned) < heard.events.index(heard.of(Started)[0])
    assert outcome.step == planned.steps == heard.of(Stepped)[-1].steps
    text = (tmp_path / "recipe.toml").read_text()
    assert f"steps = {outcome.step}\n" in text
    assert "minutes" not in text
    assert outcome.recipe == text
    assert heard.of(Stepped)[-1].rate == 0.0


def test_time_that_reading_takes_counts(corpus: Path, tmp_path: Path, clock: Clock) -> None:
    def slowly(event: Event) -> None:
        if isinstance(event, Note) and "tokenizer" in event.text:
            clock.now += 10.0

    quick = brief(corpus, tmp_path / "quick")
    slow = brief(corpus, tmp_path / "slow", listener=slowly)
    assert quick.step - slow.step == pytest.approx(10 / 0.5, abs=2)


def test_the_same_command_goes_on_by_the_same_plan(corpus: Path, tmp_path: Path, clock: Clock) -> None:
    brief(corpus, tmp_path / "whole")
    for moment in (Started, Saved, Validated):
        with pytest.raises(Stop):
            brief(corpus, tmp_path / "broken", listener=EventRecorder(lambda event: isinstance(event, moment)))  # noqa: B023
        clock.now += 1e6  # however long it lay there
        torch.manual_seed(12345)
    heard = EventRecorder()
    assert brief(corpus, tmp_path / "broken", listener=heard).status == "finished"
    assert not heard.of(Planned)
    same(tmp_path / "broken", tmp_path / "whole")
    assert brief(corpus, tmp_path / "broken").status == "already finished"


def test_another_budget_is_another_run(corpus: Path, tmp_path: Path, clock: Clock) -> None:
    brief(corpus, tmp_path)
    with pytest.raises(InputError, match="another kind") as error:
        train(str(corpus), tmp_path, settings=settings(BUDGET), minutes=3, device="cpu", threads=1)
    assert "training.minutes was 0.5, is 3" in error.value.found


def test_the_effective_recipe_alone_gives_the_same_model(corpus: Path, tmp_path: Path, clock: Clock) -> None:
    """Nothing of the clock is left in it, as long as the machine was as fast as measured."""
    brief(corpus, tmp_path / "first", listener=as_measured(clock, tmp_path / "first"))
    clock.now += 123.0
    train(tmp_path / "first" / "recipe.toml", tmp_path / "second", device="cpu", threads=1)
    same(tmp_path / "second", tmp_path / "first")


# A machine that changes


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.0])
def test_a_machine_that_changes_midway_ends_in_time_with_the_rate_down(
    factor: float, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(lambda step: 0.5 if step <= 15 else 0.5 * factor).put_in(monkeypatch)
    heard = EventRecorder()
    outcome = brief(corpus, tmp_path, listener=heard)
    planned = heard.of(Planned)[0].steps
    assert (outcome.step > planned) == (factor < 1)
    assert ("faster" if factor < 1 else "slower") in heard.notes
    assert MINUTES * 60 * 0.8 <= clock.now - 1000 <= MINUTES * 60 * 1.05
    assert heard.of(Stepped)[-1].rate == 0.0
    rates = [event.rate for event in heard.of(Stepped)][outcome.step // 3 :]
    assert rates == sorted(rates, reverse=True)


def test_a_resumed_run_follows_what_the_clock_decided(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken off before and after the machine became slower, and before and after there was a checkpoint."""

    def one(folder: Path, stops: tuple[int, ...]) -> None:
        with monkeypatch.context() as patch:
            clock = Clock(lambda step: 0.5 if step <= 15 else 1.0).put_in(patch)
            for stop in stops:
                steps = EventRecorder(lambda event: isinstance(event, Stepped) and event.step >= stop)  # noqa: B023
                with pytest.raises(Stop):
                    brief(corpus, folder, listener=steps)
                clock.now += 77.0
            assert brief(corpus, folder).status == "finished"

    one(tmp_path / "whole", ())
    saved = sorted({int(path.name[-6:]) for path in checkpoints(tmp_path / "whole" / "checkpoints")})
    assert saved[-1] < effective(tmp_path / "whole")["recipe"]["training"]["steps"]  # it was moved
    one(tmp_path / "broken", (5, 20, 26, saved[-1] - 1))
    same(tmp_path / "broken", tmp_path / "whole")


# Checkpoints by the clock


def test_a_checkpoint_comes_at_the_latest_every_two_minutes(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(lambda step: 15.0).put_in(monkeypatch)
    seldom = {"training.steps": 40, "training.validate_every": 40, "training.checkpoint_every": 40}
    times: list[float] = []
    kept: list[int] = []

    def listener(event: Event) -> None:
        if isinstance(event, (Started, Saved)):
            times.append(clock.now)
        if isinstance(event, Saved):
            kept.append(len(checkpoints(tmp_path / "timed" / "checkpoints")))

    go(corpus, tmp_path / "timed", TINY, RANDOM, seldom, listener=listener)
    assert len(times) > 4
    assert max(second - first for first, second in pairwise(times)) <= 120
    assert max(kept) == 2  # of those that the clock caused only the newest stay
    assert [path.name for path in checkpoints(tmp_path / "timed" / "checkpoints")] == ["step-000040"]
    clock.step = lambda step: 0.1
    go(corpus, tmp_path / "plain", TINY, RANDOM, seldom)
    same(tmp_path / "timed", tmp_path / "plain")


def test_a_run_that_broke_off_between_goes_on_from_a_timed_checkpoint(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(lambda step: 30.0).put_in(monkeypatch)
    seldom = {"training.steps": 20, "training.validate_every": 20, "training.checkpoint_every": 20}
    with pytest.raises(Stop):
        go(corpus, tmp_path / "broken", TINY, RANDOM, seldom,
           listener=EventRecorder(lambda event: isinstance(event, Stepped) and event.step == 7))  # fmt: skip
    heard = EventRecorder()
    go(corpus, tmp_path / "broken", TINY, RANDOM, seldom, listener=heard)
    assert "going on after step 4" in heard.notes
    go(corpus, tmp_path / "whole", TINY, RANDOM, seldom)
    same(tmp_path / "broken", tmp_path / "whole")


# Without a budget


def test_the_expected_time_is_said_before_the_first_step(corpus: Path, tmp_path: Path, clock: Clock) -> None:
    heard = EventRecorder()
    go(corpus, tmp_path, TINY, listener=heard)
    planned = heard.of(Planned)[0]
    assert planned.minutes is None
    assert planned.steps == 10
    assert planned.seconds > 10 * 0.5
    assert heard.events.index(planned) < heard.events.index(heard.of(Started)[0])


def test_measuring_leaves_no_trace_in_the_model(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Speed] = []
    speed = Probe.speed

    def remembered(probe: Probe) -> Speed:
        measured.append(speed(probe))
        return measured[-1]

    monkeypatch.setattr(Probe, "speed", remembered)
    go(corpus, tmp_path / "measured", TINY, RANDOM)
    assert [one.tokens > 0 and one.seconds > 0 and one.weights > 1000 for one in measured] == [True]
    monkeypatch.setattr(Planner, "speed", lambda planner, recipe: Speed(0.1, 100.0))
    go(corpus, tmp_path / "not", TINY, RANDOM)
    same(tmp_path / "measured", tmp_path / "not")


def test_a_dry_run_says_that_sizes_come_later(corpus: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    outcome = train(str(corpus), tmp_path / "model", minutes=1, dry_run=True, device="cpu", listener=heard)
    assert "chosen at the start, to end in 1 minute" in heard.notes
    assert "minutes = 1" in outcome.recipe
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_budget_that_is_none(minutes: float, corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="minutes"):
        train(str(corpus), tmp_path / "model", minutes=minutes, device="cpu")
    assert not (tmp_path / "model").exists()


def test_steps_and_minutes_are_one_too_many(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="say when to end"):
        go(corpus, tmp_path / "model", TINY, minutes=1)


# Threads


def test_another_number_of_threads_is_not_passed_over_in_silence(corpus: Path, tmp_path: Path) -> None:
    how: dict[str, Any] = {"settings": settings(TINY), "device": "cpu"}
    with pytest.raises(Stop):
        train(str(corpus), tmp_path, threads=1, listener=EventRecorder(lambda event: isinstance(event, Saved)), **how)
    heard = EventRecorder()
    train(str(corpus), tmp_path, threads=2, listener=heard, **how)
    assert "--threads 2 is passed over: this run began with 1" in heard.warnings
    assert left_by(tmp_path)["threads"] == 1


def test_threads_are_chosen_by_measurement_when_nobody_says(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread is said to be four times as fast as two."""
    torch.set_num_threads(2)
    monkeypatch.setattr(Probe, "once", lambda probe: 4.0 if torch.get_num_threads() == 2 else 1.0)
    heard = EventRecorder()
    train(str(corpus), tmp_path, settings=settings(TINY), device="cpu", listener=heard)
    assert "threads: 1, by a short measurement" in heard.notes
    assert left_by(tmp_path)["threads"] == 1
    assert torch.get_num_threads() == 2
