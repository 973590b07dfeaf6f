"""How many threads, and with a budget which sizes; an earlier start has decided for all later ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from regard.errors import InputError
from regard.training.loop.checkpoint_files import checkpoints
from regard.training.loop.pace import Deadline
from regard.training.optim.engines import shards
from regard.training.optim.workers import Workers
from regard.training.plan.planning import Planner, budget_event, deadline_of, plan_from_dict, plan_to_dict
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Listener, Note
from regard.training.run.run_folder import RunFolder
from regard.training.run.train_options import TrainOptions


@dataclass(frozen=True)
class Sizing:
    """What is measured and decided between reading the text and the first step."""

    options: TrainOptions
    folder: RunFolder
    workers: Workers
    planner: Planner
    listener: Listener

    def settle(self, recipe: Recipe, tests: Iterable[object]) -> tuple[Recipe, Deadline | None]:
        """The recipe with numbers for everything, and with a budget when it must end; `tests` are rows to score."""
        self.set_threads(recipe)
        fresh, deadline = not checkpoints(self.options.out / "checkpoints"), None
        sharded = shards(recipe.training, self.workers)
        if recipe.training.minutes is None:
            if fresh and self.workers.first and not sharded:  # one process alone may have no room to measure
                self.listener(self.planner.expected(recipe, sum(1 for _ in tests)))
        elif sharded:
            raise InputError(
                "a budget is measured by one process with all of the model",
                found=f"training.layout = 'sharded', training.minutes = {recipe.training.minutes:g}",
                do="give training.steps instead of minutes, or training.layout = 'replicated'",
            )
        else:
            self.make_plan(recipe, tests)
            recipe, deadline = self.follow_plan(recipe, fresh)
        how = recipe.training
        if how.warmup >= how.steps:
            self.listener(Note(f"the rate is still rising when training ends: training.warmup = {how.warmup:,}, "
                               f"training.steps = {how.steps:,}", warning=True))  # fmt: skip
        return recipe, deadline

    def make_plan(self, recipe: Recipe, tests: Iterable[object]) -> None:
        """The first process measures, once and for all."""
        if self.workers.first and not self.folder.plan:
            plan = self.planner.plan(recipe, self.options.free, sum(1 for _ in tests), self.options.begun)
            self.folder.update(plan=plan_to_dict(plan, recipe))
        self.workers.wait()

    def follow_plan(self, asked: Recipe, fresh: bool) -> tuple[Recipe, Deadline]:
        """From here on the recipe is the one that was planned."""
        plan = plan_from_dict(self.folder.plan)
        if self.workers.first:
            self.folder.write("recipe.toml", plan.recipe.to_toml())
            if fresh:
                self.listener(budget_event(plan, asked.training.minutes))
            if fresh and plan.seconds <= 0:
                text = f"reading and scoring take all of the time: {plan.recipe.training.steps} steps all the same"
                self.listener(Note(f"{text}; give more --minutes", warning=True))
        return plan.recipe, deadline_of(plan)

    def set_threads(self, recipe: Recipe) -> None:
        """As many as the run began with: another number would add in another order."""
        torch.set_flush_denormal(True)  # saturated softmaxes are full of them, and they are ten times slower
        before, wanted = self.folder.run.get("threads"), self.options.threads
        if before and wanted and before != wanted:
            text = f"--threads {wanted} is passed over: this run began with {before}"
            why = "with another number it would add in another order; another --out begins anew"
            self.listener(Note(f"{text}, and {why}", warning=True))
        threads = self.workers.gather(before or wanted or self.planner.threads(recipe))[0]
        if self.workers.first and "threads" not in self.folder.run:
            self.folder.update(threads=threads)
        torch.set_num_threads(threads)
