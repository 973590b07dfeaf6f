"""Models, loaders and updates put together, alike for training and for measuring."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch

from regard.errors import InputError
from regard.models import build, save_model
from regard.models.checkpoint import Model
from regard.training.data.loaders import loaders_for
from regard.training.data.prepared_text import PreparedText
from regard.training.loop.loop import TrainingLoop
from regard.training.loop.pace import Deadline
from regard.training.loop.selection import selection_for
from regard.training.loop.validation import Validation
from regard.training.loop.warm_up import WarmUp
from regard.training.optim.engines import engine_for, shards
from regard.training.optim.gradients import Gradients
from regard.training.optim.graph_update import GraphUpdate
from regard.training.optim.loss import objective_for
from regard.training.optim.updates import Update
from regard.training.optim.workers import Workers
from regard.training.plan.planning import ProbeSetup
from regard.training.recipe.build_model import config_for, fine_tune_from, start_folder
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Listener, Note
from regard.training.run.train_options import TrainOptions


@dataclass(frozen=True)
class RunBuilder:
    """Builds what a run works with, for its own recipe and for those that are only measured."""

    options: TrainOptions
    workers: Workers
    prepared: PreparedText

    def loop(
        self, recipe: Recipe, listener: Listener, stop_reason: Callable[[], str], deadline: Deadline | None
    ) -> TrainingLoop:
        """A run at its beginning."""
        how, out = recipe.training, self.options.out
        torch.manual_seed(how.seed)
        model = self.model(recipe)
        gathered = deepcopy(model) if shards(how, self.workers) and self.workers.first else None
        readable = model if gathered is None else gathered
        if not self.workers.first:  # the same weights, but other dropout
            torch.manual_seed(how.seed + 7919 * self.workers.rank)
        fixed = self.uses_graphs(recipe, model)
        loader, held = loaders_for(recipe, self.prepared, model.config, fixed=fixed, listener=listener)
        half = half_precision(how.precision, self.options.device)
        update = self.update(recipe, model, self.workers)
        if isinstance(update, GraphUpdate):
            classes = loader.sampler.classes
            update.warm_up = WarmUp(listener, 0 if classes is None else len(classes.rows), how.compile)
        elif how.compile:
            listener(Note("the update is compiled with its first batches: these steps take longer"))
        return TrainingLoop(
            model, how, loader, update,
            Validation(recipe, readable, self.prepared.tokenizer, held, self.prepared.valid, half),
            out, selection_for(recipe), lambda: save_model(readable, out),
            listener, self.workers, stop_reason, deadline=deadline, gathered=gathered,
        )  # fmt: skip

    def probe_setup(self, recipe: Recipe) -> ProbeSetup:
        """A model, its batches and its updates, for a measurement."""
        model = self.model(recipe)
        loader, _ = loaders_for(recipe, self.prepared, model.config, fixed=self.uses_graphs(recipe, model))
        return ProbeSetup(model.config, self.update(recipe, model, Workers()), loader)

    def model(self, recipe: Recipe) -> Model:
        """In training mode, which nothing after this changes but for the length of a validation."""
        if recipe.start is not None:
            model = fine_tune_from(start_folder(recipe), recipe, self.prepared.labels)
        else:
            model = build(config_for(recipe, self.prepared.tokenizer, self.prepared.labels))
        if shards(recipe.training, self.workers):  # all of it need not fit on a device: its shares go there
            return model.train()
        return model.to(self.options.device).train()

    def uses_graphs(self, recipe: Recipe, model: Model) -> bool:
        """Whether each shape's update is recorded once and replayed."""
        suits = self.options.device.type == "cuda" and model.config.family != "recurrent"
        return recipe.training.replay and suits and self.workers.count == 1

    def update(self, recipe: Recipe, model: Model, workers: Workers) -> Update:
        how, device = recipe.training, self.options.device
        objective = objective_for(recipe)
        objective = torch.compile(objective, dynamic=True) if how.compile else objective
        engine = engine_for(model, objective, how, workers)
        gradients = Gradients(model, objective, device, half_precision(how.precision, device), engine)
        gradients.parts = how.micro_batches
        return (GraphUpdate if self.uses_graphs(recipe, model) else Update)(model, how, gradients, workers)


def half_precision(wanted: str, device: torch.device) -> bool:
    """bfloat16 where it is asked for, or where a GPU has units for it."""
    if wanted == "auto":
        return device.type == "cuda" and torch.cuda.is_bf16_supported()
    if wanted == "bfloat16" and device.type == "mps":
        raise InputError("bfloat16 training is for CPUs and NVIDIA GPUs", do="training.precision = 'float32'")
    return wanted == "bfloat16"
