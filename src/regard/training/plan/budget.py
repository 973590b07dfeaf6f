"""What can be learned in the time there is: the sizes of a run, from how fast this machine was measured to be.

The rule: the largest model of a ladder that still reads `NEED` tokens for each of its weights (without embeddings) in
the time, since one that is larger stops before it has learned anything, and one that is smaller has learned what it
can. A model that was given is kept; then only the steps, and what hangs on them, follow the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from regard.training.loop.pace import LEAST
from regard.training.plan.probe import Speed
from regard.training.recipe.defaults import STACKS
from regard.training.recipe.derived import scaled
from regard.training.recipe.recipe import Recipe, read_recipe

NEED = 1.5  # tokens read for each weight
EPOCHS = 100.0  # passes over the text that are enough in any case
FINE_TUNING = 20.0  # the same where training starts from a model: more would only take it further from what it knew
FEW, MANY = 600, 12_000  # steps: with fewer, batches are halved; with more, doubled
SMALLEST = 512  # tokens of a batch
AIM = 0.97  # of the time, for what nobody foresees
LOOKING = 0.08  # of the time, for validations
VALIDATIONS = range(2, 9)


class Rung(NamedTuple):
    """A model on the ladder, with the rate that suits it."""

    dim: int
    heads: int
    feedforward: int
    layers: int
    rate: float
    dropout: float


LADDER = (
    Rung(64, 4, 256, 2, 3e-3, 0.1),
    Rung(128, 4, 512, 2, 2e-3, 0.1),
    Rung(192, 4, 768, 3, 1.5e-3, 0.1),
    Rung(256, 4, 1024, 4, 1e-3, 0.2),
    Rung(512, 8, 2048, 6, 7e-4, 0.1),
)


class Amount(NamedTuple):
    """How much text there is: tokens to train on, tokens to validate with, and rows to score, in validation sets."""

    tokens: float
    valid: float
    scored: float


@dataclass(frozen=True)
class TrainingPlan:
    """The effective recipe, and what the loop needs to end on time. All seconds are estimates but `seconds`."""

    recipe: Recipe
    speed: Speed
    seconds: float  # to train and validate
    most: int  # steps that are enough, even if there is time for more
    validation: float
    scoring: float  # how many validations the scores at the end cost


def expected(recipe: Recipe, amount: Amount, speed: Speed) -> float:
    """Seconds from the first step to the last score."""
    how = recipe.training
    validations = math.ceil(how.steps / how.validate_every) + scoring_of(recipe, amount)
    return how.steps * speed.seconds + validations * validation_seconds(recipe, amount, speed)


def plan(
    recipe: Recipe, free: Collection[str], amount: Amount, left: Callable[[], float], measure: Callable[[Recipe], Speed]
) -> TrainingPlan:
    """What to do with the seconds that are left, measuring included; `free` are the settings that nobody gave."""
    recipe, speed = pick_model(recipe, free, amount, left(), measure)
    if "training.batch_tokens" in free:
        recipe, speed = pick_batch(recipe, free, amount, left(), speed, measure)
    validation, scoring = validation_seconds(recipe, amount, speed), scoring_of(recipe, amount)
    seconds = left() - scoring * validation
    most = most_steps(recipe, free, amount, speed)
    count = max(min(int(LOOKING * seconds / validation), VALIDATIONS[-1]), VALIDATIONS[0])
    steps = min(max(int((seconds - count * validation) / speed.seconds), LEAST), most)
    chosen = with_training(recipe, {**follow(recipe, free, steps, count), "minutes": None})
    return TrainingPlan(chosen, speed, seconds, most, validation, scoring)


def pick_model(
    recipe: Recipe, free: Collection[str], amount: Amount, left: float, measure: Callable[[Recipe], Speed]
) -> tuple[Recipe, Speed]:
    """The largest that reads enough in the time; the smallest one in any case. No larger than suits the text."""
    if "model" not in free:
        return recipe, measure(recipe)
    chosen = on_rung(recipe, LADDER[0], free)
    speed = measure(chosen)
    for rung in LADDER[1:]:
        if rung.dim > widest(recipe):
            break
        larger = on_rung(recipe, rung, free)
        measured = measure(larger)
        if time_for_steps(larger, amount, left, measured) * measured.tokens_per_second < NEED * measured.weights:
            break
        chosen, speed = larger, measured
    return chosen, speed


def pick_batch(
    recipe: Recipe, free: Collection[str], amount: Amount, left: float, speed: Speed, measure: Callable[[Recipe], Speed]
) -> tuple[Recipe, Speed]:
    """Smaller batches where there is time for few updates, larger ones where there is time for very many."""

    def updates() -> float:
        return time_for_steps(recipe, amount, left, speed) / speed.seconds

    while updates() < FEW and recipe.training.batch_tokens >= 2 * SMALLEST:
        recipe = with_training(recipe, {"batch_tokens": recipe.training.batch_tokens // 2})
        speed = measure(recipe)
    while "training.steps" in free and updates() > MANY and speed.tokens * MANY < EPOCHS * amount.tokens:
        recipe = with_training(recipe, {"batch_tokens": recipe.training.batch_tokens * 2})
        speed = measure(recipe)
    return recipe, speed


def on_rung(recipe: Recipe, rung: Rung, free: Collection[str]) -> Recipe:
    sizes = {"dim": rung.dim, "heads": rung.heads, "feedforward": rung.feedforward, "dropout": rung.dropout}
    names = ("encoder_layers", "decoder_layers") if recipe.task == "translate" else ("layers",)
    model = {**sizes, **dict.fromkeys(names, rung.layers)}
    rate = rung.rate if recipe.task == "translate" else rung.rate / 2
    changes: dict[str, Any] = {"rate": rate} if "training.rate" in free else {}
    batch = min(recipe.training.batch_tokens, 1024 if recipe.task == "translate" else 4096)
    changes |= {"batch_tokens": batch} if "training.batch_tokens" in free else {}
    return with_training(recipe, changes, model=model)


def widest(recipe: Recipe) -> int:
    """Twice the dims that suit the text by default: with fewer tokens in the vocabulary there is room for it."""
    return 2 * int(recipe.model.get("dim") or STACKS[recipe.model.get("preset", "tiny")]["dim"])


def validation_seconds(recipe: Recipe, amount: Amount, speed: Speed) -> float:
    """An estimate until the first one is made: words are read once, and where they are translated written once."""
    return 0.5 + (2.0 if recipe.task == "translate" else 0.5) * amount.valid / speed.tokens_per_second


def scoring_of(recipe: Recipe, amount: Amount) -> float:
    """Beams are wider than the one path that a validation follows, in smaller batches: measured at 9 for 4 of them."""
    beams = recipe.decoding.beams if recipe.task == "translate" else 0
    return (1.0 + 2.0 * beams) * amount.scored


def time_for_steps(recipe: Recipe, amount: Amount, left: float, speed: Speed) -> float:
    scoring = scoring_of(recipe, amount) * validation_seconds(recipe, amount, speed)
    return max((1 - LOOKING) * (left - scoring), 0.0)


def most_steps(recipe: Recipe, free: Collection[str], amount: Amount, speed: Speed) -> int:
    """For text of one's own as many as read it often enough; a recipe's own number is what it was made for."""
    if "training.steps" not in free:
        return recipe.training.steps
    epochs = EPOCHS if recipe.start is None else FINE_TUNING
    return max(math.ceil(epochs * amount.tokens / speed.tokens), LEAST)


def follow(recipe: Recipe, free: Collection[str], steps: int, count: int) -> dict[str, Any]:
    """What hangs on the steps."""
    how = recipe.training
    every = math.ceil(steps / count)
    before = {"warmup": how.warmup, "decay": how.decay, "checkpoint_every": how.checkpoint_every}
    hanging = {**scaled(before, how.steps, steps), "validate_every": every, "patience": 0}
    if how.average != "last":  # which takes the mean of checkpoints, so that they must not lie further apart
        hanging["checkpoint_every"] = every
    return {"steps": steps, **{name: value for name, value in hanging.items() if f"training.{name}" in free}}


def with_training(recipe: Recipe, changes: dict[str, Any], **more: Any) -> Recipe:
    data = recipe.model_dump(exclude_none=True)
    return read_recipe({**data, **more, "training": {**data["training"], **changes}})
