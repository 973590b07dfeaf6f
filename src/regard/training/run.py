"""`train`: from raw text, or a recipe, to a trained, scored, usable model in a folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

from regard.errors import FileError, InputError
from regard.models import build, save_model
from regard.models.checkpoint import Model, check_room, own_tensors
from regard.tasks.loading import device_of
from regard.training.boards import Board
from regard.training.building import config_for, go_on_from, started, started_tokenizer
from regard.training.data import Preparation, Prepared
from regard.training.defaults import recipe_for
from regard.training.distributed import Workers, joined
from regard.training.events import Event, Finished, Listener, Note, Preparing, Started, silent
from regard.training.finish import average_last, final_scores
from regard.training.folder import Folder, Log
from regard.training.gradients import Gradients
from regard.training.loop import Run
from regard.training.loss import objective_for
from regard.training.reading import READING, Reading
from regard.training.recipe import Recipe, find_recipe, names, read_recipe, with_settings
from regard.training.selection import selection_for
from regard.training.serving import feeds_for
from regard.training.signals import Stopping
from regard.training.starting import read_start, start_in, start_words
from regard.training.state import Position, newest, sweep
from regard.training.updates import Replayed, Update
from regard.training.validation import Validation


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
class Asked:
    """What a call of `train` asks for beside the recipe: where to work, and how loudly."""

    out: Path
    base: Path
    strict: bool
    device: torch.device
    threads: int | None
    listener: Listener


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
    `threads` is how many the CPU uses; a resumed run uses those it began with. `tensorboard` writes the curves for it
    too, as they come.
    """
    base = Path("." if data is None else data)
    reading = Reading(None if columns is None else tuple(columns), encoding)
    recipe = resolve(what, base, list(settings), task, seed, reading, None if start is None else str(start))
    if tensorboard and not dry_run:
        listener = Board(Path(out), listener)
    asked = Asked(Path(out), base, strict, device_of(device), threads, listener)
    if dry_run:
        return rehearse(recipe, asked)
    with as_before(), Stopping() as stopping, joined(asked.device) as workers:
        return Trainer(recipe, asked, workers, stopping).go()


@contextmanager
def as_before() -> Iterator[None]:
    """How many threads there are, and what becomes of the smallest numbers, is the caller's again when it is over."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(False)


def resolve(
    what: str | Path | Sequence[str],
    base: Path,
    settings: list[str],
    task: str | None,
    seed: int | None,
    reading: Reading = READING,
    start: str | None = None,
) -> Recipe:
    """The effective recipe."""
    begun = None if start is None else read_start(start)
    given = [str(what)] if isinstance(what, (str, Path)) else [str(one) for one in what]
    if len(given) == 1 and (given[0].endswith(".toml") or given[0] in names()):
        found = reading.of_recipe(find_recipe(given[0]))
        if task is not None and task != found.get("task", "translate"):
            settings = [f"task={task}", *settings]
        found = found if begun is None else begun.suited(found, steps=False)
    elif len(given) == 1 and not is_data(given[0], base):
        found = find_recipe(given[0])  # neither a recipe nor a file: the error offers the nearest recipe
    else:
        begun = begun or start_in(settings)
        found = recipe_for(given, base, task, reading, begun)
        if any(setting.partition("=")[0].strip() == "model.family" for setting in settings):
            found["model"] = {}  # the sizes by default are those of a fresh transformer
    if seed is not None:
        settings = [*settings, f"training.seed={seed}"]
    found = with_settings(found, settings)
    begun = begun or start_in([f"start={found['start']}"] if isinstance(found.get("start"), str) else [])
    return read_recipe(found if begun is None else begun.effective(found))


def is_data(name: str, base: Path) -> bool:
    """Whether a name that is no recipe's can be meant for text: a file, a glob, or a set of the built-in language."""
    return bool(Path(name).suffix) or (base / name).exists() or any(mark in name for mark in "*?[:")


def rehearse(recipe: Recipe, asked: Asked) -> Outcome:
    """Look at everything that a run would read, and build its model, without training or writing anything."""
    preparation = Preparation(recipe, asked.base, asked.out, asked.strict, asked.listener)
    notes = preparation.check()
    for name in preparation.fingerprint():
        asked.listener(Note(f"would read {name}"))
    for note in notes:
        asked.listener(Note(note))
    parameters = sum(tensor.numel() for tensor in own_tensors(sketch(recipe)).values())
    if recipe.start is not None:
        asked.listener(Note(start_words(recipe, parameters)))
    return Outcome(asked.out, "dry run", recipe=recipe.to_toml(), parameters=parameters)


def sketch(recipe: Recipe) -> Model:
    """The model as large as it can become, without its numbers: nobody has read the text yet."""

    class Full:
        size = recipe.tokenizer.vocabulary

    if recipe.start is not None:
        return go_on_from(started(recipe), recipe, ("a", "b"))
    with torch.device("meta"):
        return build(config_for(recipe, Full(), ("a", "b")))  # type: ignore[arg-type]


class Trainer:
    """One run, from the folder it claims to the scores it leaves there."""

    def __init__(self, recipe: Recipe, asked: Asked, workers: Workers, stopping: Stopping) -> None:
        self.recipe, self.asked, self.workers, self.stopping = recipe, asked, workers, stopping
        self.folder = Folder(asked.out)
        every = max(recipe.training.steps // 1000, 1)
        self.log: Listener = Log(self.folder, every, asked.listener) if workers.first else silent
        self.preparation = Preparation(recipe, asked.base, asked.out, asked.strict, self.tell)

    def tell(self, event: Event) -> None:
        """Pass it on; between two pieces of long work is also when to listen."""
        self.log(event)
        if isinstance(event, Preparing) and self.workers.count == 1:
            self.stopping.heed()

    def go(self) -> Outcome:
        self.preparation.check()
        corpus = self.preparation.fingerprint()
        if not self.folder.run:  # what is wrong with the settings is said before they claim the folder
            selection_for(self.recipe)
            check_room(sketch(self.recipe).config)
        if self.workers.first:
            self.folder.begin(self.recipe, corpus)
        if self.folder.finished:
            return self.already()
        prepared = self.prepare()
        run = self.start(prepared)
        why = run.go()
        if run.interrupted:
            return Outcome(self.asked.out, "interrupted", run.position.step, run.position.seconds, why=why)
        return self.finish(run, why) if self.workers.first else Outcome(self.asked.out, "finished", why=why)

    def already(self) -> Outcome:
        run = self.folder.run
        return Outcome(
            self.asked.out, "already finished", run.get("step", 0), run.get("seconds", 0.0), run.get("scores", {}),
            run.get("why", ""), self.recipe.to_toml(),
        )  # fmt: skip

    def prepare(self) -> Prepared:
        """The first process prepares; the others open what it wrote."""
        tokenizer = None
        if self.recipe.start is not None:
            begun = started(self.recipe)
            tokenizer = started_tokenizer(begun, self.recipe)
            count = sum(tensor.numel() for tensor in own_tensors(begun.model).values())
            self.tell(Note(start_words(self.recipe, count)))
        if self.workers.first:
            self.preparation.run(tokenizer)
        self.workers.wait()
        return self.preparation.run(tokenizer)

    def start(self, prepared: Prepared) -> Run:
        """A run at its beginning, or at its newest checkpoint that is whole."""
        self.set_threads()
        how, device = self.recipe.training, self.asked.device
        torch.manual_seed(how.seed)
        model = self.build(prepared).to(device)
        if not self.workers.first:  # the same weights, but other dropout
            torch.manual_seed(how.seed + 7919 * self.workers.rank)
        half = half_precision(how.precision, device)
        replayed = (
            how.replay and device.type == "cuda" and model.config.family != "recurrent" and self.workers.count == 1
        )
        feed, held = feeds_for(self.recipe, prepared, model.config, fixed=replayed, tell=self.tell)
        objective = objective_for(self.recipe)
        objective = torch.compile(objective, dynamic=True) if how.compile else objective
        gradients = Gradients(model, objective, device, half)
        gradients.parts = how.micro_batches
        run = Run(
            model, how, feed, (Replayed if replayed else Update)(model, how, gradients, self.workers),
            Validation(self.recipe, model, prepared.tokenizer, held, prepared.valid, half),
            self.asked.out, selection_for(self.recipe), lambda: save_model(model, self.asked.out),
            self.tell, self.workers, lambda: self.stopping.why,
        )  # fmt: skip
        self.resume(run)
        count = sum(tensor.numel() for tensor in own_tensors(model).values())
        self.tell(Started(run.position.step, how.steps, count, str(device), self.recipe.to_toml()))
        return run

    def build(self, prepared: Prepared) -> Model:
        if self.recipe.start is not None:
            return go_on_from(started(self.recipe), self.recipe, prepared.labels)
        return build(config_for(self.recipe, prepared.tokenizer, prepared.labels))

    def set_threads(self) -> None:
        """As many as the run began with: another number would add in another order."""
        threads = self.folder.run.get("threads") or self.asked.threads or torch.get_num_threads()
        if self.workers.first and "threads" not in self.folder.run:
            self.folder.update(threads=threads)
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)  # saturated softmaxes are full of them, and they are ten times slower

    def resume(self, run: Run) -> None:
        place = self.asked.out / "checkpoints"
        if self.workers.first:
            sweep(place)
        damaged = False
        for path, found in newest(place):
            if isinstance(found, FileError):
                self.tell(Note(f"{path.name} is damaged ({found.found}); falling back to the one before", warning=True))
                damaged = True
                continue
            run.restore(*found)
            self.tell(Note(f"going on after step {run.position.step} ({path.name})"))
            return
        if damaged:
            self.tell(Note("no checkpoint is whole: starting from the beginning", warning=True))
        run.position = Position(threads=torch.get_num_threads(), micro_batches=self.recipe.training.micro_batches)

    def finish(self, run: Run, why: str) -> Outcome:
        """The weights that were asked for, scored; then nothing is left but what is needed to use and explain them."""
        if self.recipe.training.average == "last":
            average_last(run, self.tell)
        scores = final_scores(self.recipe, self.asked, self.tell)
        position = run.position
        done = {"step": position.step, "seconds": position.seconds, "scores": scores, "why": why}
        self.tell(Finished(position.step, position.seconds, str(self.asked.out), scores, why))
        self.folder.draw(self.recipe)
        self.folder.update(status="finished", **done)
        shutil.rmtree(self.asked.out / "prepared", ignore_errors=True)
        return Outcome(self.asked.out, "finished", recipe=self.recipe.to_toml(), **done)  # type: ignore[arg-type]


def half_precision(wanted: str, device: torch.device) -> bool:
    """bfloat16 where it is asked for, or where a GPU has units for it."""
    if wanted == "auto":
        return device.type == "cuda" and torch.cuda.is_bf16_supported()
    if wanted == "bfloat16" and device.type == "mps":
        raise InputError("bfloat16 training is for CPUs and NVIDIA GPUs", do="training.precision = 'float32'")
    return wanted == "bfloat16"
