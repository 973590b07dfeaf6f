"""`train`: from raw text, or a recipe, to a trained, scored, usable model in a folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import tomli_w
import torch

from regard.errors import FileError, InputError
from regard.models import build, save_model
from regard.models.checkpoint import Model, check_room, own_tensors
from regard.tasks.model_folder import device_of
from regard.training.data.loaders import loaders_for
from regard.training.data.prepare import Preparation, PreparedText
from regard.training.loop.distributed import Workers, process_group
from regard.training.loop.finish import average_last, final_scores
from regard.training.loop.folder import Folder, LogWriter
from regard.training.loop.lock import locked
from regard.training.loop.loop import TrainingLoop
from regard.training.loop.pace import Deadline
from regard.training.loop.selection import selection_for
from regard.training.loop.signals import StopSignals
from regard.training.loop.state import Position, checkpoints, newest, sweep
from regard.training.loop.validation import Validation
from regard.training.optim.gradients import Gradients
from regard.training.optim.loss import objective_for
from regard.training.optim.updates import GraphUpdate, Update
from regard.training.plan.planning import (
    Planner,
    ProbeSetup,
    budget_event,
    deadline_of,
    free_settings,
    plan_from_dict,
    plan_to_dict,
)
from regard.training.recipe.build_model import config_for, fine_tune_from, start_folder, start_tokenizer
from regard.training.recipe.file_options import FileOptions
from regard.training.recipe.fine_tuning import start_words
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.resolve import Request, names_recipe, resolve
from regard.training.report.boards import Board
from regard.training.report.events import Event, Finished, Listener, Note, Preparing, Started, silent


@dataclass(frozen=True)
class Outcome:
    """How a run ended: "finished", "already finished", "interrupted" or "dry run"."""

    folder: Path
    status: str
    step: int = 0
    seconds: float = 0.0
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    why: str = ""
    recipe: str = ""
    parameters: int = 0


@dataclass(frozen=True)
class TrainOptions:
    """What a call of `train` asks for beside the recipe: where to work, and how loudly."""

    out: Path
    base: Path
    strict: bool
    device: torch.device
    threads: int | None
    listener: Listener
    begun: float = field(default_factory=time.monotonic)  # a budget counts from here
    free: Collection[str] = ()  # what a budget may size


def train(
    what: str | Path | Sequence[str],
    out: str | Path,
    *,
    data: str | Path | None = None,
    settings: Sequence[str] = (),
    task: str | None = None,
    columns: Sequence[str | int] | None = None,
    encoding: str | None = None,
    start: str | Path | None = None,
    strict: bool = False,
    device: str = "auto",
    minutes: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    dry_run: bool = False,
    tensorboard: bool = False,
    listener: Listener = silent,
) -> Outcome:
    """Train a model in the folder `out`, or go on with the training that is there.

    `what` is the name of a recipe that comes with regard, a recipe file (.toml), or one or two files of text. Files
    named in a recipe are looked for in `data`. `settings` change single values: "training.steps=500". `columns` of a
    file are numbers from 0, or names; `encoding` is that of files that are not UTF-8. `start` is a trained model (a
    folder, or a name) to fine-tune: with its tokenizer and sizes, and at a lower rate. The same call again goes on
    where the last one stopped; when nothing is left to do it says so. `strict` makes every dropped row an error.
    `minutes` is all the time there is: sizes and steps are chosen to end in it. `threads` is how many the CPU uses, by
    a short measurement if not given; a resumed run uses those it began with. `tensorboard` writes the curves for it
    too, as they come.
    """
    base, begun = Path("." if data is None else data), time.monotonic()
    named = [] if start is None else [tomli_w.dumps({"start": str(start)}).strip()]
    extra = {"training.minutes": minutes, "training.seed": seed}
    settings = [*settings, *named, *(f"{key}={value}" for key, value in extra.items() if value is not None)]
    file_options = FileOptions(None if columns is None else tuple(columns), encoding)
    recipe = resolve(Request(what, base, settings, task, file_options))
    if tensorboard and not dry_run:
        listener = Board(Path(out), listener)
    free = free_settings(settings, not names_recipe(what))
    options = TrainOptions(Path(out), base, strict, device_of(device), threads, listener, begun, free)
    if dry_run:
        return rehearse(recipe, options)
    with restore_torch_settings(), StopSignals() as stopping, process_group(options.device) as workers:
        return Trainer(recipe, options, workers, stopping).go()


@contextmanager
def restore_torch_settings() -> Iterator[None]:
    """How many threads there are, and what becomes of the smallest numbers, is the caller's again when it is over."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(False)


def rehearse(recipe: Recipe, options: TrainOptions) -> Outcome:
    """Look at everything that a run would read, and build its model, without training or writing anything."""
    preparation = Preparation(recipe, options.base, options.out, options.strict, options.listener)
    notes = preparation.check()
    for name in preparation.fingerprint():
        options.listener(Note(f"would read {name}"))
    for note in notes:
        options.listener(Note(note))
    if recipe.training.minutes is not None:
        options.listener(Note(f"sizes and steps are measured and chosen at the start, to end in {in_minutes(recipe)}"))
    parameters = sum(tensor.numel() for tensor in own_tensors(sketch(recipe)).values())
    if recipe.start is not None:
        options.listener(Note(start_words(recipe, parameters)))
    return Outcome(options.out, "dry run", recipe=recipe.to_toml(), parameters=parameters)


def sketch(recipe: Recipe) -> Model:
    """The model as large as it can become, without its numbers: nobody has read the text yet."""

    class Full:
        size = recipe.tokenizer.vocabulary

    if recipe.start is not None:
        return fine_tune_from(start_folder(recipe), recipe, ("a", "b"))
    with torch.device("meta"):
        return build(config_for(recipe, Full(), ("a", "b")))  # type: ignore[arg-type]


def in_minutes(recipe: Recipe) -> str:
    return f"{recipe.training.minutes:g} minute{'' if recipe.training.minutes == 1 else 's'}"


class Trainer:
    """One run, from the folder it claims to the scores it leaves there."""

    def __init__(self, recipe: Recipe, options: TrainOptions, workers: Workers, stopping: StopSignals) -> None:
        self.recipe, self.options, self.workers, self.stopping = recipe, options, workers, stopping
        self.folder = Folder(options.out)
        self.deadline: Deadline | None = None  # with a budget
        self.log: Listener = LogWriter(self.folder, options.listener) if workers.first else silent
        self.preparation = Preparation(recipe, options.base, options.out, options.strict, self.tell)

    def tell(self, event: Event) -> None:
        """Pass it on; between two pieces of long work is also when to listen."""
        self.log(event)
        if isinstance(event, Preparing) and self.workers.count == 1:
            self.stopping.raise_if_asked()

    def go(self) -> Outcome:
        self.preparation.check()
        corpus = self.preparation.fingerprint()
        if not self.folder.run:  # what is wrong with the settings is said before they claim the folder
            selection_for(self.recipe)
            check_room(sketch(self.recipe).config)
        alone = self.workers.first and not self.folder.finished
        with locked(self.options.out, self.tell) if alone else nullcontext():
            return self.work(corpus)

    def work(self, corpus: dict[str, str]) -> Outcome:
        """All that nobody else may do in this folder meanwhile."""
        if self.workers.first:
            self.folder.begin(self.recipe, corpus)
        if self.folder.finished:
            return self.already()
        prepared = self.prepare()
        self.settle(prepared)
        run = self.start(prepared)
        why = run.go()
        if run.interrupted:
            return Outcome(self.options.out, "interrupted", run.position.step, run.position.seconds, why=why)
        return self.finish(run, why) if self.workers.first else Outcome(self.options.out, "finished", why=why)

    def already(self) -> Outcome:
        run = self.folder.run
        return Outcome(
            self.options.out, "already finished", run.get("step", 0), run.get("seconds", 0.0), run.get("scores", {}),
            run.get("why", ""), (self.options.out / "recipe.toml").read_text(encoding="utf-8"),
        )  # fmt: skip

    def prepare(self) -> PreparedText:
        """The first process prepares; the others open what it wrote."""
        tokenizer = None
        if self.recipe.start is not None:
            begun = start_folder(self.recipe)
            tokenizer = start_tokenizer(begun, self.recipe)
            count = sum(tensor.numel() for tensor in own_tensors(begun.model).values())
            self.tell(Note(start_words(self.recipe, count)))
        written = self.workers.together(lambda: self.preparation.run(tokenizer) if self.workers.first else None)
        return self.workers.together(lambda: written or self.preparation.reopen())

    def settle(self, prepared: PreparedText) -> None:
        """How many threads, and with a budget which sizes; an earlier start has decided for all later ones."""
        planner = Planner(
            lambda recipe: self.set_up_probe(recipe, prepared),
            prepared,
            self.options.device,
            self.tell,
            self.workers.count,
        )
        self.set_threads(planner)
        fresh, tests = not checkpoints(self.options.out / "checkpoints"), self.preparation.tests
        if self.recipe.training.minutes is None:
            if fresh and self.workers.first:
                self.tell(planner.expected(self.recipe, sum(1 for _ in tests)))
        else:
            if self.workers.first and not self.folder.plan:
                plan = planner.plan(self.recipe, self.options.free, sum(1 for _ in tests), self.options.begun)
                self.folder.update(plan=plan_to_dict(plan, self.recipe))
            self.workers.wait()
            self.follow_plan(fresh)
        how = self.recipe.training
        if how.warmup >= how.steps:
            self.tell(Note(f"the rate is still rising when training ends: training.warmup = {how.warmup:,}, "
                           f"training.steps = {how.steps:,}", warning=True))  # fmt: skip

    def follow_plan(self, fresh: bool) -> None:
        """From here on the recipe is the one that was planned, with numbers for everything."""
        plan = plan_from_dict(self.folder.plan)
        minutes, self.recipe, self.deadline = self.recipe.training.minutes, plan.recipe, deadline_of(plan)
        if self.workers.first:
            self.folder.write("recipe.toml", self.recipe.to_toml())
            if fresh:
                self.tell(budget_event(plan, minutes))
            if fresh and plan.seconds <= 0:
                text = f"reading and scoring take all of the time: {self.recipe.training.steps} steps all the same"
                self.tell(Note(f"{text}; give more --minutes", warning=True))

    def set_up_probe(self, recipe: Recipe, prepared: PreparedText) -> ProbeSetup:
        """A model, its batches and its updates, for a measurement."""
        model = self.build(recipe, prepared).to(self.options.device)
        loader, _ = loaders_for(recipe, prepared, model.config, fixed=self.replayed(recipe, model))
        return ProbeSetup(model.config, self.updates(recipe, model, Workers()), loader)

    def start(self, prepared: PreparedText) -> TrainingLoop:
        """A run at its beginning, or at its newest checkpoint that is whole."""
        how, device = self.recipe.training, self.options.device
        torch.manual_seed(how.seed)
        model = self.build(self.recipe, prepared).to(device)
        if not self.workers.first:  # the same weights, but other dropout
            torch.manual_seed(how.seed + 7919 * self.workers.rank)
        fixed = self.replayed(self.recipe, model)
        loader, held = loaders_for(self.recipe, prepared, model.config, fixed=fixed, listener=self.tell)
        half = half_precision(how.precision, device)
        run = TrainingLoop(
            model, how, loader, self.updates(self.recipe, model, self.workers),
            Validation(self.recipe, model, prepared.tokenizer, held, prepared.valid, half),
            self.options.out, selection_for(self.recipe), lambda: save_model(model, self.options.out),
            self.tell, self.workers, lambda: self.stopping.why, deadline=self.deadline,
        )  # fmt: skip
        self.resume(run)
        count = sum(tensor.numel() for tensor in own_tensors(model).values())
        self.tell(Started(run.position.step, run.pace.end, count, str(device), self.recipe.to_toml()))
        return run

    def replayed(self, recipe: Recipe, model: Model) -> bool:
        """Whether each shape's update is recorded once and replayed."""
        suits = self.options.device.type == "cuda" and model.config.family != "recurrent"
        return recipe.training.replay and suits and self.workers.count == 1

    def updates(self, recipe: Recipe, model: Model, workers: Workers) -> Update:
        how, device = recipe.training, self.options.device
        objective = objective_for(recipe)
        objective = torch.compile(objective, dynamic=True) if how.compile else objective
        gradients = Gradients(model, objective, device, half_precision(how.precision, device))
        gradients.parts = how.micro_batches
        return (GraphUpdate if self.replayed(recipe, model) else Update)(model, how, gradients, workers)

    def build(self, recipe: Recipe, prepared: PreparedText) -> Model:
        if recipe.start is not None:
            return fine_tune_from(start_folder(recipe), recipe, prepared.labels)
        return build(config_for(recipe, prepared.tokenizer, prepared.labels))

    def set_threads(self, planner: Planner) -> None:
        """As many as the run began with: another number would add in another order."""
        torch.set_flush_denormal(True)  # saturated softmaxes are full of them, and they are ten times slower
        before, wanted = self.folder.run.get("threads"), self.options.threads
        if before and wanted and before != wanted:
            self.tell(Note(f"--threads {wanted} is passed over: this run began with {before}, and with another number "
                           "it would add in another order; another --out begins anew", warning=True))  # fmt: skip
        threads = before or wanted or planner.threads(self.recipe)
        if self.workers.first and "threads" not in self.folder.run:
            self.folder.update(threads=threads)
        torch.set_num_threads(threads)

    def resume(self, run: TrainingLoop) -> None:
        folder = self.options.out / "checkpoints"
        if self.workers.first:
            sweep(folder)
        damaged = False
        for path, state in newest(folder):
            if isinstance(state, FileError):
                self.tell(Note(f"{path.name} is damaged ({state.found}); falling back to the one before", warning=True))
                damaged = True
                continue
            run.restore(*state)
            self.tell(Note(f"going on after step {run.position.step} ({path.name})"))
            return
        if damaged:
            self.tell(Note("no checkpoint is whole: starting from the beginning", warning=True))
        run.position = Position(threads=torch.get_num_threads(), micro_batches=self.recipe.training.micro_batches)

    def finish(self, run: TrainingLoop, why: str) -> Outcome:
        """The weights that were asked for, scored; then nothing is left but what is needed to use and explain them."""
        if self.recipe.training.average == "last":
            average_last(run, self.tell)
        scores = final_scores(self.recipe, self.options, self.tell)
        position = run.position
        done = {"step": position.step, "seconds": position.seconds, "scores": scores, "why": why}
        self.tell(Finished(position.step, position.seconds, str(self.options.out), scores, why))
        self.folder.draw(self.recipe)
        self.folder.update(status="finished", **done)
        shutil.rmtree(self.options.out / "prepared", ignore_errors=True)
        return Outcome(self.options.out, "finished", recipe=self.recipe.to_toml(), **done)  # type: ignore[arg-type]


def half_precision(wanted: str, device: torch.device) -> bool:
    """bfloat16 where it is asked for, or where a GPU has units for it."""
    if wanted == "auto":
        return device.type == "cuda" and torch.cuda.is_bf16_supported()
    if wanted == "bfloat16" and device.type == "mps":
        raise InputError("bfloat16 training is for CPUs and NVIDIA GPUs", do="training.precision = 'float32'")
    return wanted == "bfloat16"
