"""A run whose pairs are partly synthetic: first come stages, each an ordinary training run and a translation of files.

All of it is in the folder of the run: the model of a stage in `teacher` or `reverse`, texts in `synthetic` until all is
finished. The same command goes on in the stage where the last one stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from regard.errors import InputError
from regard.tasks.bulk.translate_files import BulkProgress, BulkRequest, translate_files
from regard.tasks.translator import DTYPES, SearchOptions
from regard.training.data.stage_text import StageText, reference_file
from regard.training.data.synthetic_pairs import (
    FOLDER,
    PairFilter,
    SyntheticSource,
    ended_text,
    read_synthetic,
    text_lines,
    write_pairs,
    write_synthetic,
)
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import weights_of
from regard.training.recipe.stage_recipe import SIDES, Stage, stage_recipe, stages_of
from regard.training.report.boards import Board
from regard.training.report.events import Listener, Note, Preparing
from regard.training.run.outcome import Outcome
from regard.training.run.run_builder import half_precision
from regard.training.run.run_folder import RunFolder
from regard.training.run.signals import StopSignals
from regard.training.run.train_options import TrainOptions
from regard.training.run.trainer import Trainer


def train_in_stages(recipe: Recipe, options: TrainOptions, workers: Workers, signals: StopSignals) -> Outcome:
    """What a recipe asks for, after whatever must be made first."""
    stages = Stages(recipe, options, workers, signals)
    return Trainer(recipe, options, workers, signals, stages if stages_of(recipe) else None).go()


@dataclass(frozen=True)
class Stages:
    """Called, it makes the synthetic pairs that are not there yet; it gives the outcome of what was interrupted."""

    recipe: Recipe
    options: TrainOptions
    workers: Workers
    signals: StopSignals

    def __call__(self, emit: Listener) -> Outcome | None:
        if read_synthetic(self.options.out) is not None:
            return None
        if self.workers.count > 1:
            raise InputError(
                "synthetic pairs are made by one process",
                found=f"{self.workers.count} processes, and no {self.options.out / FOLDER} yet",
                do="start the same command without torchrun, and with it once training itself begins",
            )
        text = StageText(self.recipe, self.options.base, self.options.out / FOLDER / "text", emit)
        counts = text.write()
        sources: list[SyntheticSource] = []
        for stage in stages_of(self.recipe):
            if stage.trained:
                outcome = self.train(stage, text.folder, counts, emit)
                if outcome.status == "interrupted":
                    return outcome
            sources += self.translate(stage, text, emit)
        write_synthetic(self.options.out, sources)
        report = [{"stage": one.stage, "pairs": one.pairs, "left_out": one.left_out} for one in sources]
        RunFolder(self.options.out).update(synthetic=report)
        return None

    def train(self, stage: Stage, text: Path, counts: Sequence[int], emit: Listener) -> Outcome:
        """The model of a stage, in a folder of its own; its curves are there, and not on the board of the run."""
        numbers = [number for number, count in enumerate(counts) if count]
        weights = weights_of(self.recipe.data.train)
        recipe = stage_recipe(self.recipe, stage, numbers, [weights[number] for number in numbers])
        emit(Note(f"{stage.name}: training {self.options.out / stage.folder} first, {recipe.training.steps:,} steps"))
        listener = self.options.listener
        listener = listener.listener if isinstance(listener, Board) else listener
        out, begun = self.options.out / stage.folder, time.monotonic()
        options = replace(self.options, out=out, base=text, listener=listener, begun=begun)
        return Trainer(recipe, options, self.workers, self.signals).go()

    def translate(self, stage: Stage, text: StageText, emit: Listener) -> list[SyntheticSource]:
        """The texts of a stage, translated and sifted."""
        place = self.options.out / FOLDER / stage.name
        inputs = [path for path in text.inputs(stage, place) if path.stat().st_size]
        model = str(self.options.out / stage.folder if stage.trained else stage.given)
        outputs = place / "translated"
        outputs.mkdir(exist_ok=True)
        self.compute_as(model)
        search: SearchOptions = {"beams": stage.table.beams, "alpha": self.recipe.decoding.alpha}
        half = half_precision(self.recipe.training.precision, self.options.device)
        request = BulkRequest(
            model, inputs, outputs, search, ended_text, "ended", self.options.device.type, DTYPES[1 if half else 0]
        )
        translate_files(request, on_progress=progress_to(emit, f"{stage.name}: translating"))
        weights = self.weights(stage)
        sources = [self.sift(stage, path, weights[int(path.stem)], emit) for path in inputs]
        if not any(one.pairs for one in sources):
            emit(
                Note(f"{stage.name}: no translation is good enough to learn from; what is wrong is above", warning=True)
            )
        return sources

    def compute_as(self, model: str) -> None:
        """As many threads as its training had, whoever goes on: with another number the last digits are others."""
        threads = RunFolder(Path(model)).run.get("threads") if Path(model).is_dir() else None
        torch.set_num_threads(threads or self.options.threads or torch.get_num_threads())
        torch.set_flush_denormal(True)

    def weights(self, stage: Stage) -> tuple[float, ...]:
        """Of the pairs made from each source of a stage."""
        data = getattr(stage.table, "data", []) or self.recipe.data.train
        return tuple(weight * stage.table.weight for weight in weights_of(data))

    def sift(self, stage: Stage, path: Path, weight: float, emit: Listener) -> SyntheticSource:
        """The translations of one file as pairs, without those that are no good."""
        keep = PairFilter(stage.table.ratio, getattr(stage.table, "chrf", 0.0))
        files = [path.with_name(f"{path.stem}.{side}") for side in SIDES]
        translated = path.parent / "translated" / path.name
        rows = zip(*map(text_lines, (path, translated, reference_file(path))), strict=True)
        back, tag = stage.name == "back_translation", bool(getattr(stage.table, "tag", False))
        pairs, faults = write_pairs(files, rows, keep, back=back, tag=tag)
        left_out = "".join(f", {count:,} left out: {fault}" for fault, count in faults.items())
        emit(Note(f"{stage.name}: {pairs:,} synthetic pairs of source {int(path.stem) + 1}{left_out}"))
        names = f"{stage.name}/{files[0].name}", f"{stage.name}/{files[1].name}"
        return SyntheticSource(stage.name, names, weight, pairs, faults)


def progress_to(emit: Listener, what: str) -> Callable[[BulkProgress], None]:
    return lambda progress: emit(Preparing(what, progress.lines, progress.all_lines))
