"""The end of a run: which weights stay, and how good they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from regard.lens.alignment.choice import ReadingChoice
from regard.lens.alignment.stored_choice import write_choice
from regard.models import save_model
from regard.models.checkpoint import own_tensors
from regard.tasks import load
from regard.training.evaluate import evaluate, read_data
from regard.training.loop.checkpoint_files import checkpoints, read_state, step_of
from regard.training.loop.loop import TrainingLoop
from regard.training.loop.training_state import below
from regard.training.optim.guided_alignment import guided_reading
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Listener, Note, Preparing
from regard.training.run.train_options import TrainOptions


@torch.no_grad()
def average_last(loop: TrainingLoop, listener: Listener) -> None:
    """The mean of the last checkpoints' weights becomes the model."""
    paths = [path for path in checkpoints(loop.folder / "checkpoints") if loop.planned(step_of(path))][: loop.how.last]
    states = [below(read_state(path)[1], "model/") for path in paths]
    model = loop.state.whole_model
    for name, weight in own_tensors(model).items():
        weight.copy_(torch.stack([state[name].double() for state in states]).mean(0))
    with loop.state.anchored():
        save_model(model, loop.folder)
    listener(Note(f"averaged the weights of {', '.join(path.name for path in reversed(paths))}"))


def keep_guided_reading(recipe: Recipe, folder: Path, listener: Listener) -> None:
    """Beside a model with a guided head: that is where its alignment is read."""
    if not recipe.training.guided_alignment:
        return
    model = load(folder, "cpu").model
    reading = guided_reading(model, recipe.training.guided_head)
    write_choice(folder, model, ReadingChoice(reading, "guided by links in training"))
    listener(Note(f"alignments are read at {reading}"))


def final_scores(recipe: Recipe, options: TrainOptions, listener: Listener) -> dict[str, dict[str, float]]:
    """The folder is loaded as a user would, and scored on the validation set and on every test set, once each."""
    task = load(options.out, options.device.type)
    scores: dict[str, dict[str, float]] = {}
    for name, value in {**validation(recipe, options.out), **recipe.data.test}.items():
        how = {**options_for(recipe), "on_progress": progress_to(listener, f"scoring {name}")}
        evaluation = evaluate(task, read_data(value, options.base), **how)
        scores[name] = {one.name: one.value for one in evaluation.scores}
        beside = f" ({evaluation.baseline}: {words(evaluation.baselines)})" if evaluation.baselines else ""
        listener(Note(f"{name}: {words(scores[name])}{beside}"))
    return scores


def validation(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """The validation set: as the recipe names it, or the rows that were kept back."""
    if len(recipe.data.valid) == 1:
        return {"valid": recipe.data.valid[0]}
    sides = [0, 1] if recipe.task in ("translate", "classify") else [0]
    return {"valid": {"file": str((folder / "prepared" / "valid.jsonl").resolve()), "columns": sides}}


def options_for(recipe: Recipe) -> dict[str, Any]:
    """How to look for translations; other tasks need no telling."""
    if recipe.task != "translate":
        return {}
    language = {"language": recipe.data.languages[1]} if recipe.data.languages else {}
    return {"beams": recipe.decoding.beams, "alpha": recipe.decoding.alpha, "batch": 128, **language}


def progress_to(listener: Listener, what: str) -> Callable[[int, int], None]:
    return lambda done, total: listener(Preparing(what, done, total))


def words(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
