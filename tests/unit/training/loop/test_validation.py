"""Validation on the way: it looks at the model without dropout, leaves it as it was, and keeps the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from regard.models.checkpoint import Model
from regard.training.loop.validation import Validation
from regard.training.optim.gradients import Gradients
from regard.training.plan.planning import Planner
from regard.training.plan.probe import Speed
from regard.training.recipe.recipe import Recipe
from regard.training.run.run_builder import RunBuilder
from tests.training_cases import TINY, go, left_by


def modes(model: Any) -> dict[str, bool]:
    return {name: module.training for name, module in model.named_modules()}


def test_what_was_frozen_stays_frozen_while_the_rest_trains(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder of this model is in eval mode, as someone may want who trains the rest: in every step, to the end."""
    plain_model, plain_one, plain_losses = RunBuilder.model, Gradients.one, Validation.losses
    in_steps, in_validations = [], []

    def half_frozen(builder: RunBuilder, recipe: Recipe) -> Model:
        model = plain_model(builder, recipe)
        model.encoder.eval()  # type: ignore[union-attr]
        return model

    def watched_step(gradients: Gradients, *batch: Any) -> Tensor:
        in_steps.append(modes(gradients.model))
        return plain_one(gradients, *batch)

    def watched_losses(validation: Validation) -> dict[str, float]:
        in_validations.append(modes(validation.model))
        return plain_losses(validation)

    monkeypatch.setattr(Planner, "speed", lambda planner, recipe: Speed(0.1, 100.0))
    monkeypatch.setattr(RunBuilder, "model", half_frozen)
    monkeypatch.setattr(Gradients, "one", watched_step)
    monkeypatch.setattr(Validation, "losses", watched_losses)
    go(corpus, tmp_path, TINY)
    assert len(in_steps) == 10
    assert len(in_validations) == 3
    frozen = {name for name in in_steps[0] if name.split(".")[0] == "encoder"}
    assert frozen
    assert all(mode == (name not in frozen) for step in in_steps for name, mode in step.items())
    assert not any(mode for validation in in_validations for mode in validation.values())


def test_a_validation_without_a_number_is_never_the_best(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = Validation.losses
    monkeypatch.setattr(
        Validation, "losses", lambda self: {**losses(self), "loss": float("nan")} if calls.append(1) or len(calls) == 1
        else losses(self),
    )  # fmt: skip
    calls: list[int] = []
    go(corpus, tmp_path, TINY, {"training.select": "loss"})
    assert left_by(tmp_path)["position"]["best_step"] > 4
