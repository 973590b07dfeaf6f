"""One run, from the folder it claims to the scores it leaves there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack

from regard.models.checkpoint import check_room, own_tensors
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.data.synthetic_pairs import FOLDER
from regard.training.loop.loop import TrainingLoop
from regard.training.loop.pace import Deadline
from regard.training.loop.selection import selection_for
from regard.training.optim.workers import Workers
from regard.training.plan.planning import Planner
from regard.training.recipe.build_model import start_folder, start_tokenizer
from regard.training.recipe.fine_tuning import start_words
from regard.training.recipe.recipe import Recipe
from regard.training.report.events import Event, Finished, Listener, Note, Preparing, Started, silent
from regard.training.report.log_writer import LogWriter
from regard.training.run.dry_run import sketch
from regard.training.run.finish import average_last, final_scores, keep_guided_reading
from regard.training.run.lock import locked
from regard.training.run.outcome import Outcome
from regard.training.run.resume import resume
from regard.training.run.run_builder import RunBuilder
from regard.training.run.run_folder import RunFolder
from regard.training.run.signals import StopSignals
from regard.training.run.sizing import Sizing
from regard.training.run.train_options import TrainOptions


class Trainer:
    """Checks, claims the folder, prepares, sizes, trains and scores, in this order."""

    def __init__(
        self,
        recipe: Recipe,
        options: TrainOptions,
        workers: Workers,
        signals: StopSignals,
        stages: Callable[[Listener], Outcome | None] | None = None,
    ) -> None:
        """`stages` makes synthetic pairs before all else, and gives the outcome of one that was interrupted."""
        self.recipe, self.options, self.workers, self.signals = recipe, options, workers, signals
        self.stages = stages
        self.folder = RunFolder(options.out)
        self.deadline: Deadline | None = None  # with a budget
        self.log: Listener = LogWriter(options.out, options.listener) if workers.first else silent
        self.preparation = Preparation(recipe, options.base, options.out, options.strict, self.emit)

    def emit(self, event: Event) -> None:
        """Pass it on; between two pieces of long work is also when to listen to signals."""
        self.log(event)
        if isinstance(event, Preparing) and self.workers.count == 1:
            self.signals.raise_if_asked()

    def go(self) -> Outcome:
        corpus = self.workers.together(self.check)
        with ExitStack() as held:
            self.workers.together(lambda: self.claim(corpus, held) if self.workers.first else None)
            return self.work()

    def check(self) -> dict[str, str]:
        """What is wrong with settings and text is said before they claim the folder; gives the text's fingerprint."""
        self.preparation.check()
        corpus = self.preparation.fingerprint()
        if not self.folder.run:
            selection_for(self.recipe)
            check_room(sketch(self.recipe).config)
        return corpus

    def claim(self, corpus: dict[str, str], held: ExitStack) -> None:
        """The folder is this run's alone, until `held` is closed."""
        if not self.folder.finished:
            held.enter_context(locked(self.options.out, self.emit))
        self.folder.begin(self.recipe, corpus)

    def work(self) -> Outcome:
        """All that nobody else may do in this folder meanwhile."""
        if self.folder.finished:
            return self.already_finished()
        if stages := self.stages:
            begun = self.preparation.whole()
            if not begun and (stopped := self.workers.together(lambda: stages(self.emit))):
                return stopped
        loop = self.start(RunBuilder(self.options, self.workers, self.prepare()))
        why = loop.go()
        if loop.interrupted:
            return Outcome(self.options.out, "interrupted", loop.position.step, loop.position.seconds, why=why)
        done = Outcome(self.options.out, "finished", why=why)  # all wait: a kill while scoring starts all of them again
        return self.workers.together(lambda: self.finish(loop, why) if self.workers.first else done)

    def already_finished(self) -> Outcome:
        run = self.folder.run
        return Outcome(
            self.options.out, "already finished", run.get("step", 0), run.get("seconds", 0.0), run.get("scores", {}),
            run.get("why", ""), (self.options.out / "recipe.toml").read_text(encoding="utf-8"),
        )  # fmt: skip

    def prepare(self) -> PreparedText:
        """The first process prepares; the others open what it wrote."""
        tokenizer = None
        if self.recipe.start is not None:
            start = start_folder(self.recipe)
            tokenizer = start_tokenizer(start, self.recipe)
            count = sum(tensor.numel() for tensor in own_tensors(start.model).values())
            self.emit(Note(start_words(self.recipe, count)))
        written = self.workers.together(lambda: self.preparation.run(tokenizer) if self.workers.first else None)
        return self.workers.together(lambda: written or self.preparation.reopen())

    def start(self, builder: RunBuilder) -> TrainingLoop:
        """A run at its beginning, or at its newest checkpoint that is whole."""
        planner = Planner(builder.probe_setup, builder.prepared, self.options.device, self.emit, self.workers.count)
        sizing = Sizing(self.options, self.folder, self.workers, planner, self.emit)
        self.recipe, self.deadline = sizing.settle(self.recipe, self.preparation.tests)
        loop = builder.loop(self.recipe, self.emit, lambda: self.signals.why, self.deadline)
        resume(loop)
        count = sum(tensor.numel() for tensor in own_tensors(loop.model).values())
        device, text = str(self.options.device), self.recipe.to_toml()
        self.emit(Started(loop.position.step, loop.pace.end, count, device, text))
        return loop

    def finish(self, loop: TrainingLoop, why: str) -> Outcome:
        """The weights that were asked for, scored; then nothing is left but what is needed to use and explain them."""
        if self.recipe.training.average == "last":
            average_last(loop, self.emit)
        keep_guided_reading(self.recipe, self.options.out, self.emit)
        scores = final_scores(self.recipe, self.options, self.emit)
        position = loop.position
        done = {"step": position.step, "seconds": position.seconds, "scores": scores, "why": why}
        self.emit(Finished(position.step, position.seconds, str(self.options.out), scores, why))
        self.folder.draw(self.recipe)
        self.folder.update(status="finished", **done)
        for name in ("prepared", FOLDER):
            shutil.rmtree(self.options.out / name, ignore_errors=True)
        return Outcome(self.options.out, "finished", recipe=self.recipe.to_toml(), **done)  # type: ignore[arg-type]
