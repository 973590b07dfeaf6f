"""Before the first step: how many threads, which sizes, how long it will take; each by a short measurement."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import torch

from regard.models.config import Config
from regard.training.data.prepared_text import PreparedText
from regard.training.data.task_batches import BatchLoader
from regard.training.loop.pace import Deadline
from regard.training.optim.updates import Update
from regard.training.plan.budget import AIM, Amount, TrainingPlan, expected, plan
from regard.training.plan.probe import Probe, Speed, best_threads, compare_threads, isolated_rng, thread_counts
from regard.training.recipe.derived import FOLLOWING, given_by
from regard.training.recipe.recipe import Recipe, read_recipe
from regard.training.report.events import Listener, Note, Planned, Preparing


class ProbeSetup(NamedTuple):
    """What a measurement needs of a run."""

    config: Config
    update: Update
    loader: BatchLoader


def free_settings(settings: Collection[str], own_text: bool, start: str | None = None) -> set[str]:
    """What a budget may size: what hangs on the steps; without a recipe their number, the model and its rate too."""
    given = given_by(settings)
    free = {f"training.{name}" for name in (*FOLLOWING, "batch_tokens", "patience")}
    free |= {"training.steps"} if own_text else set()
    if own_text and start is None and not any(name == "start" or name.startswith("model.") for name in given):
        free |= {"model", "training.rate"}
    return free - given


class Planner:
    """Measures with models that are thrown away, made by `attempt` just as the run makes its own."""

    def __init__(
        self,
        set_up: Callable[[Recipe], ProbeSetup],
        prepared: PreparedText,
        device: torch.device,
        listener: Listener,
        workers: int,
    ) -> None:
        self.set_up, self.device, self.listener, self.workers = set_up, device, listener, workers
        self.tokens = sum(int(store.lengths.sum()) for store in prepared.columns.values())
        self.rows, self.valid = max(len(prepared.sources), 1), max(len(prepared.valid), 1)

    def speed(self, recipe: Recipe) -> Speed:
        """Of training by a recipe, here and now."""
        with isolated_rng(self.device):
            setup = self.set_up(recipe)
            speed = Probe(setup.update, setup.loader, self.device, self.workers).speed()
        speed = speed._replace(model=in_words(setup.config))
        self.listener(Preparing(f"measuring {speed.model}: {speed.tokens_per_second:,.0f} tokens/s", 0))
        del setup
        if self.device.type == "cuda":  # recordings hold on to their memory
            gc.collect()
            torch.cuda.empty_cache()
        return speed

    def threads(self, recipe: Recipe) -> int:
        """Of a CPU: 1, 2, 4, ... or all, whichever is fastest now. Beside a GPU, or among workers, as they are."""
        most = torch.get_num_threads()
        if most == 1 or self.device.type != "cpu" or self.workers > 1:
            return most
        with isolated_rng(self.device):
            setup = self.set_up(recipe)
            probe = Probe(setup.update, setup.loader, self.device)

            def once(count: int) -> float:
                torch.set_num_threads(count)
                return probe.once()

            seconds = compare_threads(once, thread_counts(most))
        chosen = best_threads(seconds)
        speeds = ", ".join(f"{probe.measured / spent:,.0f} tokens/s with {count}" for count, spent in seconds.items())
        self.listener(Note(f"threads: {chosen}, by a short measurement: {speeds}"))
        return chosen

    def amount(self, tests: int) -> Amount:
        """How much text there is; `tests` are the rows of the test sets."""
        return Amount(self.tokens, self.tokens * self.valid / self.rows, 1 + tests / self.valid)

    def plan(self, recipe: Recipe, free: Collection[str], tests: int, begun: float) -> TrainingPlan:
        """For a budget that counts from `begun` on."""
        minutes = recipe.training.minutes
        assert minutes is not None
        return plan(
            recipe, free, self.amount(tests), lambda: AIM * 60 * minutes - (time.monotonic() - begun), self.speed
        )

    def expected(self, recipe: Recipe, tests: int) -> Planned:
        """How long a run without a budget should take."""
        speed = self.speed(recipe)
        return plan_event(recipe, speed, None, expected(recipe, self.amount(tests), speed))


def plan_event(recipe: Recipe, speed: Speed, minutes: float | None, seconds: float) -> Planned:
    how = recipe.training
    return Planned(
        minutes, seconds, speed.model, how.steps, speed.seconds, speed.tokens, how.warmup, how.validate_every
    )


def budget_event(plan: TrainingPlan, minutes: float | None) -> Planned:
    """What a budget was turned into."""
    how = plan.recipe.training
    validations = how.steps / how.validate_every + plan.scoring
    seconds = how.steps * plan.speed.seconds + validations * plan.validation
    return plan_event(plan.recipe, plan.speed, minutes, seconds)


def in_words(config: Config) -> str:
    """The sizes that matter most: 128 dims, 2 + 2 layers."""
    sizes = config.to_dict()
    both = [sizes[name] for name in ("encoder_layers", "decoder_layers") if name in sizes] or [sizes["layers"]]
    layers = " + ".join(map(str, both)) + (" layer" if both == [1] else " layers")
    return f"{sizes['dim']} dims, {layers}"


def plan_to_dict(plan: TrainingPlan, asked: Recipe) -> dict[str, Any]:
    """As run.json keeps it: what was asked for, what was chosen, and when it must end."""
    return {
        "minutes": asked.training.minutes, "asked": asked.model_dump(exclude_none=True),
        "recipe": plan.recipe.model_dump(exclude_none=True), "speed": plan.speed._asdict(),
        "seconds": plan.seconds, "most": plan.most, "validation": plan.validation, "scoring": plan.scoring,
    }  # fmt: skip


def plan_from_dict(data: dict[str, Any]) -> TrainingPlan:
    sizes = {name: data[name] for name in ("seconds", "most", "validation", "scoring")}
    return TrainingPlan(read_recipe(data["recipe"]), Speed(**data["speed"]), **sizes)


def deadline_of(plan: TrainingPlan) -> Deadline:
    return Deadline(plan.seconds, plan.most, plan.validation, plan.scoring, plan.scoring * plan.validation)
