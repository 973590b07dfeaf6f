"""Sizes that follow the time: planned from speeds that are given, not measured."""

from __future__ import annotations

import pytest

from regard.training.plan.budget import (
    AIM,
    EPOCHS,
    FINE_TUNING,
    LADDER,
    LEAST,
    NEED,
    Amount,
    TrainingPlan,
    expected,
    plan,
)
from regard.training.plan.planning import free_settings, plan_from_dict, plan_to_dict
from regard.training.plan.probe import Speed
from regard.training.recipe.recipe import Recipe, find_recipe, read_recipe

TEXT = read_recipe(
    {
        "data": {"train": ["a.tsv"]},
        "model": {"preset": "tiny", "encoder_layers": 4, "decoder_layers": 4},
        "training": {"steps": 8000, "warmup": 1000, "batch_tokens": 4096, "validate_every": 800, "decay": 0.99,
                     "minutes": 10.0, "patience": 5, "average": "moving"},
    }
)  # fmt: skip


AMOUNT = Amount(400_000, 20_000, 1.0)


FREE = free_settings([], own_text=True)


class Machine:
    """So many multiplications a second; each weight is used once a token. Every measurement takes a second."""

    def __init__(self, power: float) -> None:
        self.power, self.measured, self.spent = power, list[Recipe](), 0.0

    def __call__(self, recipe: Recipe) -> Speed:
        self.measured.append(recipe)
        self.spent += 1.0
        layers = recipe.model.get("encoder_layers", 6) + recipe.model.get("decoder_layers", 6)
        weights = layers * 10 * recipe.model.get("dim", 512) ** 2
        tokens = 1.4 * recipe.training.batch_tokens
        return Speed(tokens * weights / self.power, tokens, weights)

    def plan(self, seconds: float, recipe: Recipe = TEXT, free: set[str] = FREE) -> TrainingPlan:
        return plan(recipe, free, AMOUNT, lambda: seconds - self.spent, self)


def whole(found: TrainingPlan) -> float:
    """What the plan takes, from the first step to the last score."""
    how = found.recipe.training
    validations = -(-how.steps // how.validate_every) + found.scoring
    return how.steps * found.speed.seconds + validations * found.validation


@pytest.mark.parametrize("power", [3e9, 1e10, 1e11, 1e12])
@pytest.mark.parametrize("seconds", [60, 180, 600, 3600])
def test_the_plan_fills_the_time_that_is_left_and_no_more(power: float, seconds: float) -> None:
    machine = Machine(power)
    found = machine.plan(seconds)
    left = seconds - machine.spent
    how = found.recipe.training
    assert how.minutes is None  # all is numbers now
    if how.steps in (LEAST, found.most):
        return
    assert whole(found) <= left
    assert whole(found) > left - 2 * found.validation - found.speed.seconds
    assert how.steps * found.speed.seconds > 0.4 * left


def test_there_are_plans_that_fill_the_time() -> None:
    """Else the test above would say nothing."""
    assert LEAST < Machine(1e10).plan(600).recipe.training.steps < Machine(1e10).plan(600).most


def test_more_time_or_a_faster_machine_never_means_a_smaller_model() -> None:
    for one, other in [(60, 180), (180, 600), (600, 3600)]:
        assert Machine(1e10).plan(one).speed.weights <= Machine(1e10).plan(other).speed.weights
    for slow, fast in [(1e9, 1e10), (1e10, 1e11), (1e11, 1e12)]:
        assert Machine(slow).plan(600).speed.weights <= Machine(fast).plan(600).speed.weights
    assert Machine(1e8).plan(60).recipe.model["dim"] == LADDER[0].dim
    assert Machine(1e13).plan(600).recipe.model["dim"] == 256  # twice what suits this text by default, and no more


def test_the_model_is_the_largest_that_reads_enough() -> None:
    machine = Machine(2e10)
    found = machine.plan(600)
    sizes = [(rung.dim, rung.layers) for rung in LADDER]
    place = sizes.index((found.recipe.model["dim"], found.recipe.model["encoder_layers"]))
    assert place > 0
    assert found.recipe.training.steps * found.speed.tokens >= 0.8 * NEED * found.speed.weights


def test_what_hangs_on_the_steps_follows() -> None:
    found = Machine(1e10).plan(600)
    how = found.recipe.training
    assert how.warmup == pytest.approx(how.steps / 8, abs=1)
    assert 2 <= -(-how.steps // how.validate_every) <= 8
    assert how.checkpoint_every == how.validate_every
    assert how.patience == 0
    assert 1 / (1 - how.decay) == pytest.approx(max(how.steps / 80, 10), rel=1e-3)


def test_enough_is_enough() -> None:
    """On a very fast machine it ends before its time: reading the same text for ever teaches nothing."""
    found = Machine(1e14).plan(3600)
    assert found.recipe.training.steps * found.speed.tokens == pytest.approx(EPOCHS * AMOUNT.tokens, rel=0.01)
    assert found.recipe.training.batch_tokens > 1024  # and its batches are larger


def test_a_slow_machine_gets_smaller_batches() -> None:
    assert Machine(1e8).plan(600).recipe.training.batch_tokens == 512


def test_no_time_at_all_still_is_a_plan() -> None:
    found = Machine(1e8).plan(1)
    assert found.recipe.training.steps == LEAST
    assert found.recipe.training.warmup < LEAST


def test_a_model_that_was_given_is_kept() -> None:
    recipe = read_recipe({**find_recipe("tatoeba-en-fr"), "training": {
        **find_recipe("tatoeba-en-fr")["training"], "minutes": 10.0}})  # fmt: skip
    found = Machine(1e10).plan(600, recipe, free_settings(["training.minutes=10"], own_text=False))
    assert found.recipe.model == recipe.model
    assert found.recipe.training.rate == recipe.training.rate
    assert found.recipe.training.steps < recipe.training.steps
    assert found.recipe.training.warmup == pytest.approx(found.recipe.training.steps / 20, abs=1)
    longer = Machine(1e14).plan(600, recipe, free_settings(["training.minutes=10"], own_text=False))
    assert longer.recipe.training.steps == recipe.training.steps  # what it was made for


def test_what_was_given_one_by_one_is_kept() -> None:
    given = ["model.dim=32", "training.warmup=7", "training.batch_tokens=2048", "training.validate_every=9"]
    left = {"checkpoint_every", "decay", "patience", "steps"}
    assert free_settings(given, own_text=True) == {f"training.{name}" for name in left}
    recipe = read_recipe({**TEXT.model_dump(), "model": {"dim": 32}, "training": {
        **TEXT.training.model_dump(), "warmup": 7, "batch_tokens": 2048, "validate_every": 9}})  # fmt: skip
    found = Machine(1e9).plan(600, recipe, free_settings(given, own_text=True)).recipe
    assert found.model == {"dim": 32}
    assert (found.training.warmup, found.training.batch_tokens, found.training.validate_every) == (7, 2048, 9)


@pytest.mark.parametrize("given", [["model.dropout=0.3"], ["start=mine"]])
def test_text_of_one_s_own_takes_all_the_time_with_a_given_model_too(given: list[str]) -> None:
    """The steps by default are nobody's wish: where there is time for more of them, there are more."""
    few = read_recipe({**TEXT.model_dump(), "training": {**TEXT.training.model_dump(), "steps": 500}})
    found = Machine(1e12).plan(600, few, free_settings(given, own_text=True))
    assert found.recipe.model == few.model
    assert whole(found) > 0.9 * 600


def test_fine_tuning_reads_a_text_less_often() -> None:
    """More would take a model further from what it knew, however much time there is."""
    start = read_recipe({**TEXT.model_dump(), "start": "mine"})
    for recipe, epochs in ((TEXT, EPOCHS), (start, FINE_TUNING)):
        found = Machine(1e15).plan(600, recipe, free_settings([], own_text=True, start=recipe.start))
        read = found.recipe.training.steps * found.speed.tokens / AMOUNT.tokens
        assert read == pytest.approx(epochs, rel=0.05)
    assert "model" not in free_settings([], own_text=True, start="mine")


def test_a_plan_is_kept_as_it_is() -> None:
    found = Machine(1e10).plan(600)
    assert plan_from_dict(plan_to_dict(found, TEXT)) == found


def test_what_a_run_without_a_budget_should_take() -> None:
    recipe = read_recipe({**TEXT.model_dump(), "decoding": {"beams": 1}})
    seconds = expected(recipe, AMOUNT, Speed(0.5, 1000.0))
    assert seconds == pytest.approx(8000 * 0.5 + (10 + 3) * (0.5 + 2 * 20_000 / 2000))
    assert 0 < AIM < 1
