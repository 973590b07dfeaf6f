"""A run without training: what it would read, and how large its model would be."""

from __future__ import annotations

from pathlib import Path

import torch

from regard.models import build
from regard.models.checkpoint import Model, own_tensors
from regard.training.data.prepare import Preparation
from regard.training.recipe.build_model import config_for, fine_tune_from, start_folder
from regard.training.recipe.fine_tuning import start_words
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import weights_of
from regard.training.recipe.stage_recipe import Stage, stage_recipe, stages_of
from regard.training.report.events import Note
from regard.training.run.outcome import Outcome
from regard.training.run.train_options import TrainOptions


def rehearse(recipe: Recipe, options: TrainOptions) -> Outcome:
    """Look at everything that a run would read, and build its model, without training or writing anything."""
    preparation = Preparation(recipe, options.base, options.out, options.strict, options.listener)
    notes = preparation.check()
    for name in preparation.fingerprint():
        options.listener(Note(f"would read {name}"))
    for note in notes:
        options.listener(Note(note))
    for stage in stages_of(recipe):
        options.listener(Note(stage_words(recipe, stage, options.out)))
    if recipe.training.minutes is not None:
        options.listener(Note(f"sizes and steps are measured and chosen at the start, to end in {in_minutes(recipe)}"))
    parameters = sum(tensor.numel() for tensor in own_tensors(sketch(recipe)).values())
    if recipe.start is not None:
        options.listener(Note(start_words(recipe, parameters)))
    return Outcome(options.out, "dry run", recipe=recipe.to_toml(), parameters=parameters)


def sketch(recipe: Recipe) -> Model:
    """The model as large as it can become, without its numbers: nobody has read the text yet."""

    class FullTokenizer:
        size = recipe.tokenizer.vocabulary

    if recipe.start is not None:
        return fine_tune_from(start_folder(recipe), recipe, ("a", "b"))
    with torch.device("meta"):
        return build(config_for(recipe, FullTokenizer(), ("a", "b")))  # type: ignore[arg-type]


def stage_words(recipe: Recipe, stage: Stage, out: Path) -> str:
    """What comes before training, in one line."""
    share = "all" if stage.table.share == 1 else f"{stage.table.share:.0%}"
    data = getattr(stage.table, "data", [])
    texts = f"{share} texts of data.{stage.name}" if data else f"{share} {stage.inputs} sides of the training pairs"
    if not stage.trained:
        return f"{stage.name}: would first translate {texts} with {stage.given}, {stage.table.beams} beams"
    theirs = stage_recipe(recipe, stage, range(len(recipe.data.train)), weights_of(recipe.data.train))
    parameters = sum(tensor.numel() for tensor in own_tensors(sketch(theirs)).values())
    return (
        f"{stage.name}: would first train {out / stage.folder} ({parameters:,} parameters, {theirs.training.steps:,} "
        f"steps), then translate {texts} with it, {stage.table.beams} beams"
    )


def in_minutes(recipe: Recipe) -> str:
    return f"{recipe.training.minutes:g} minute{'' if recipe.training.minutes == 1 else 's'}"
