"""`train`: from raw text, or a recipe, to a trained, scored, usable model in a folder."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import tomli_w
import torch

from regard.errors import InputError
from regard.tasks.model_folder import device_of
from regard.training.loop.distributed import process_group
from regard.training.plan.planning import free_settings
from regard.training.recipe.derived import given_by
from regard.training.recipe.file_options import FileOptions
from regard.training.recipe.resolve import Request, names_recipe, resolve
from regard.training.recipe.shipped_start import shipped_start_words
from regard.training.report.boards import Board
from regard.training.report.events import Listener, Note, silent
from regard.training.run.dry_run import rehearse
from regard.training.run.outcome import Outcome
from regard.training.run.signals import StopSignals
from regard.training.run.stages import train_in_stages
from regard.training.run.train_options import TrainOptions


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
    scratch: bool = False,
    strict: bool = False,
    device: str = "auto",
    minutes: float | None = None,
    seed: int | None = None,
    threads: int | None = None,
    layout: str | None = None,
    dry_run: bool = False,
    tensorboard: bool = False,
    listener: Listener = silent,
) -> Outcome:
    """Train a model in the folder `out`, or go on with the training that is there.

    `what` is the name of a recipe that comes with regard, a recipe file (.toml), or one or two files of text. Files
    named in a recipe are looked for in `data`. `settings` change single values: "training.steps=500". `columns` of a
    file are numbers from 0, or names; `encoding` is that of files that are not UTF-8. `start` is a trained model (a
    folder, or a name) to fine-tune: with its tokenizer and sizes, and at a lower rate. Pairs of one's own in languages
    that a model which ships translates start from that one, unless `scratch` asks for fresh weights. The same call
    again goes on where the last one stopped; when nothing is left to do it says so. `strict` makes every dropped row an
    error. `minutes` is all the time there is: sizes and steps are chosen to end in it. `threads` is how many the CPU
    uses, by a short measurement if not given; a resumed run uses those it began with. `layout` is for several
    processes, as torchrun starts them: "replicated" (each has all weights) or "sharded" (each has its share of them).
    `tensorboard` writes the curves for it too, as they come.
    """
    if scratch and start is not None:
        raise InputError("fresh weights have no start", found=f"scratch and start {start}", do="give one of the two")
    base, begun = Path("." if data is None else data), time.monotonic()
    named = [] if start is None else [tomli_w.dumps({"start": str(start)}).strip()]
    extra = {"training.minutes": minutes, "training.seed": seed, "training.layout": layout}
    settings = [*settings, *named, *(f"{key}={value}" for key, value in extra.items() if value is not None)]
    file_options = FileOptions(None if columns is None else tuple(columns), encoding)
    request = Request(what, base, settings, task, file_options, scratch)
    if tensorboard and not dry_run:
        listener = Board(Path(out), listener)
    options = TrainOptions(Path(out), base, strict, device_of(device), threads, listener, begun)
    with restore_torch_settings(), process_group(options.device) as workers:
        recipe = workers.together(lambda: resolve(request))
        options = replace(options, free=free_settings(settings, not names_recipe(what), recipe.start))
        if recipe.start is not None and not names_recipe(what) and "start" not in given_by(settings) and workers.first:
            listener(Note(shipped_start_words(recipe)))
        if dry_run:
            return rehearse(recipe, options)
        with StopSignals() as signals:
            return train_in_stages(recipe, options, workers, signals)


@contextmanager
def restore_torch_settings() -> Iterator[None]:
    """How many threads there are, and what becomes of the smallest numbers, is the caller's again when it is over."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(False)
