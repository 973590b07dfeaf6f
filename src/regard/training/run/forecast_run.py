"""`forecast_run`: what a call of `train` would take: here by measuring, elsewhere by runs that were made."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from regard.errors import FileError, InputError
from regard.models.checkpoint import build, memory_here, own_tensors
from regard.models.config import Config
from regard.tasks.model_folder import device_of
from regard.training.data.loaders import loaders_for
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.data.task_batches import TaskBatch
from regard.training.optim.workers import Workers
from regard.training.plan.budget import scoring_of, validation_seconds
from regard.training.plan.flops import BatchShape
from regard.training.plan.forecast import (
    NO_PRICES,
    Forecast,
    Machine,
    Prices,
    RunSize,
    TextAmount,
    assumed_text,
    forecast_on_gpu,
    put_together,
)
from regard.training.plan.planning import Planner
from regard.training.plan.probe import SAMPLED, spread
from regard.training.plan.throughput import find_gpu
from regard.training.recipe.build_model import config_for, start_folder, start_tokenizer
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.resolve import Request, resolve
from regard.training.recipe.stage_recipe import stages_of
from regard.training.recipe.synthetic_tables import STAGES
from regard.training.report.events import Listener, silent
from regard.training.run.dry_run import sketch
from regard.training.run.run_builder import RunBuilder
from regard.training.run.train_options import TrainOptions


def forecast_run(
    request: Request, gpu: str | None = None, count: int = 1, prices: Prices = NO_PRICES, listener: Listener = silent
) -> Forecast:
    """What the run will take. `gpu` is one of the table, "cpu" for this machine's, None for what is here.

    Text that is here is read and cut as training would, into a folder that is thrown away.
    """
    recipe = resolve(request)
    if recipe.training.minutes is not None:
        raise InputError(
            "a budget of minutes decides all sizes when training starts",
            found=f"training.minutes = {recipe.training.minutes:g}",
            do="leave it out, or train: it says what it chose",
        )
    here = gpu is None or gpu.lower() == "cpu"
    if here and count > 1:
        raise InputError(
            "only one of this machine's devices is measured", found=f"--gpus {count}", do="name them with --gpu"
        )
    if gpu is not None and not here:
        find_gpu(gpu)  # what is wrong is said before anything is read
    names = ", ".join(stage.name for stage in stages_of(recipe))
    left_out = [f"{names}: not counted, neither what they take nor the pairs they make"] if names else []
    recipe = recipe.model_copy(update=dict.fromkeys(STAGES))
    with prepared_text(recipe, request.base, listener, needed=here) as text:
        if gpu is not None and not here:
            forecast = forecast_on_gpu(run_size(recipe, text), gpu, count, prices)
        else:
            assert text is not None
            forecast = forecast_here(recipe, text, device_of("auto" if gpu is None else "cpu"), prices, listener)
    return replace(forecast, basis=[*forecast.basis, *left_out])


@contextmanager
def prepared_text(
    recipe: Recipe, base: Path, listener: Listener, *, needed: bool
) -> Iterator[tuple[Preparation, PreparedText] | None]:
    """The text of a run as ids, in a folder for the length of a with block; None where it is not here."""
    with tempfile.TemporaryDirectory() as folder:
        preparation = Preparation(recipe, base, Path(folder), False, listener)
        try:
            preparation.check()
        except FileError as error:
            if needed:
                advice = "--data DIR names where the text is; --gpu NAME estimates without it"
                raise FileError(error.wrong, found=error.found, do=advice) from error
            yield None
            return
        tokenizer = None if recipe.start is None else start_tokenizer(start_folder(recipe), recipe)
        yield preparation, preparation.run(tokenizer)


def run_size(recipe: Recipe, text: tuple[Preparation, PreparedText] | None) -> RunSize:
    """The model without its numbers, and its batches as a GPU would get them."""
    if text is None or recipe.start is not None:
        model = sketch(recipe)
    else:
        with torch.device("meta"):
            model = build(config_for(recipe, text[1].tokenizer, text[1].labels))
    parameters = sum(tensor.numel() for tensor in own_tensors(model).values())
    amount = assumed_text(recipe) if text is None else read_text(recipe, text[1], model.config)
    return RunSize(recipe, model.config, parameters, amount)


def read_text(recipe: Recipe, prepared: PreparedText, config: Config, *, fixed: bool = True) -> TextAmount:
    loader, _ = loaders_for(recipe, prepared, config, fixed=fixed)
    specs = loader.epoch(0)
    if not specs:
        raise InputError("there is nothing to train on", found="no batches", do="give more text")
    sample = [loader.build(specs[index]) for index in spread(len(specs), SAMPLED)]
    tokens = sum(batch.tokens for batch in sample) / len(sample)
    rows = len(prepared.sources)
    basis = f"text: {rows:,} rows as they are here, {tokens:,.0f} tokens of them in a batch"
    return TextAmount(tuple(map(shape_of, sample)), tokens, len(specs), basis)


def shape_of(batch: TaskBatch) -> BatchShape:
    tensors = batch.tensors
    if "ids" in tensors:
        return BatchShape(*map(float, tensors["ids"].shape))
    rows, source = tensors["source"].shape
    return BatchShape(float(rows), float(source), float(tensors["target"].shape[1]))


def forecast_here(
    recipe: Recipe, text: tuple[Preparation, PreparedText], device: torch.device, prices: Prices, listener: Listener
) -> Forecast:
    """By a few updates of a model that is thrown away, as `regard train` measures before it begins."""
    preparation, prepared = text
    options = TrainOptions(preparation.folder, preparation.train.base, False, device, None, listener)
    builder = RunBuilder(options, Workers(), prepared)
    planner = Planner(builder.probe_setup, prepared, device, listener, 1)
    before = torch.get_num_threads()
    try:
        torch.set_flush_denormal(True)  # as training does
        threads = planner.threads(recipe)
        torch.set_num_threads(threads)
        speed = planner.speed(recipe)
    finally:
        torch.set_num_threads(before)
        torch.set_flush_denormal(False)
    size = run_size(recipe, text)
    amount = read_text(recipe, prepared, size.config, fixed=device.type == "cuda")
    much = planner.amount(sum(1 for _ in preparation.tests))
    validation = validation_seconds(recipe, much, speed)
    seconds = recipe.training.steps * speed.seconds
    seconds += math.ceil(recipe.training.steps / recipe.training.validate_every) * validation
    used = f" with {threads} thread{'' if threads == 1 else 's'}" if device.type == "cpu" else ""
    basis = [
        f"time: measured here and now, {speed.tokens_per_second:,.0f} tokens/s{used}; other work here slows it",
        f"validations are estimated, and so is scoring at the end: {scoring_of(recipe, much) * validation:,.0f} s more",
        amount.basis,
    ]
    return put_together(size._replace(text=amount), machine_here(device, prices.watts), seconds, prices, basis)


def machine_here(device: torch.device, watts: float | None) -> Machine:
    if device.type != "cuda":
        return Machine(f"this machine's {device.type.upper()}", 1, memory_here(), watts, half=False)
    board = torch.cuda.get_device_properties(device)
    half = torch.cuda.is_bf16_supported()
    return Machine(f"this machine's {board.name}", 1, float(board.total_memory), watts, half)
