"""What a run will take, before it is begun: parameters, arithmetic, tokens, time, memory, energy and what they cost.

Each number comes with what it rests on; where that is an assumption, it is called one.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from regard.models.config import Config
from regard.text.batches import Budget
from regard.training.plan.flops import BatchShape, update_flops
from regard.training.plan.footprint import Footprint, footprint
from regard.training.plan.throughput import (
    COMPILED,
    FILLED,
    LENGTH,
    Gpu,
    UpdateWork,
    find_gpu,
    fit,
    left_out,
    measured_runs,
    update_seconds,
    work_of,
)
from regard.training.recipe.recipe import Recipe

EFFICIENCY = 0.9  # of several GPUs, where nobody has measured it
MEMORY = 1.25  # times as much or as little may be needed: what tests hold on a CPU, and an H200 showed for the base


class TextAmount(NamedTuple):
    """How large batches are: their shapes, the tokens that are words in each, and batches of an epoch if known."""

    shapes: tuple[BatchShape, ...]
    tokens: float
    epoch: int | None
    basis: str


@dataclass(frozen=True)
class Prices:
    """What somebody pays; None where it was not said. `watts` is what this machine, or each GPU, draws."""

    hour: float | None = None  # of one GPU, or of this machine
    kwh: float | None = None
    watts: float | None = None


NO_PRICES = Prices()


class Machine(NamedTuple):
    """What a run is made on: bytes of memory and watts of each of its devices, where they are known."""

    name: str
    devices: int
    memory: float | None
    watts: float | None
    half: bool  # whether bfloat16 is what it trains in by default


@dataclass(frozen=True)
class Forecast:
    """What a run will take. Energy and cost are None where a power or a price is not known."""

    recipe: str
    machine: str
    gpus: int
    parameters: int
    steps: int
    tokens: float  # words and ends of texts that are read, each as often as it is read
    epochs: float | None
    flops: float
    seconds: float
    memory: Footprint  # of each GPU
    memory_there: float | None  # bytes
    kwh: float | None
    cost: dict[str, float]
    basis: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        values = {name: value for name, value in vars(self).items() if name != "memory"}
        return {**values, "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
                "memory": {**self.memory._asdict(), "total": self.memory.total}}  # fmt: skip


class RunSize(NamedTuple):
    """A recipe with its model and its text."""

    recipe: Recipe
    config: Config
    parameters: int
    text: TextAmount


def assumed_text(recipe: Recipe) -> TextAmount:
    """Batches of a text that nobody has seen."""
    how, pair = recipe.training, recipe.task == "translate"
    length = how.block if recipe.task == "generate" else min(LENGTH, recipe.data.longest)
    rows = Budget(how.batch_tokens).rows(length)
    filled = 1.0 if recipe.task == "generate" else FILLED
    basis = f"text: assumed, since it is not here: {length} tokens a text, {filled:.0%} of a batch's positions words"
    shape = BatchShape(rows, length, length if pair else 0)
    return TextAmount((shape,), rows * length * (2 if pair else 1) * filled, None, basis)


def mean_work(size: RunSize) -> UpdateWork:
    """Of an update, over the shapes that its batches have."""
    works = [work_of(size.config, shape, bool(size.recipe.training.consistency)) for shape in size.text.shapes]
    numbers, flops = statistics.fmean(work.numbers for work in works), statistics.fmean(work.flops for work in works)
    return UpdateWork(works[0].layers, numbers, flops)


def forecast_on_gpu(size: RunSize, name: str, count: int = 1, prices: Prices = NO_PRICES) -> Forecast:
    """On GPUs that are not here."""
    gpu, how = find_gpu(name), size.recipe.training
    work = mean_work(size)
    seconds = how.steps * update_seconds(work, gpu, fit(measured_runs()), count)
    seconds /= EFFICIENCY if count > 1 else 1.0
    seconds /= COMPILED if how.compile else 1.0
    basis = [*time_basis(size, gpu, count), size.text.basis]
    watts = gpu.watts if prices.watts is None else prices.watts
    machine = Machine(gpu.name, count, gpu.memory * 1e9, watts, half=True)
    return put_together(size, machine, seconds, prices, basis)


def time_basis(size: RunSize, gpu: Gpu, count: int) -> list[str]:
    runs = measured_runs()
    worst = max(abs(left_out(run) / run.real_seconds - 1) for run in runs)
    origin = runs[0].gpu
    basis = [
        f"time: {len(runs)} runs of regard train on one {origin.name}, validations included, two rates fitted; each of "
        f"them, foretold from the others, is off by {worst:.0%} at most"
    ]
    if gpu.key != origin.key:
        basis.append(
            f"assumed, not measured: {gpu.name} is the {origin.name} with {gpu.bandwidth:g} instead of "
            f"{origin.bandwidth:g} TB/s of memory and {gpu.tflops:g} instead of {origin.tflops:g} TFLOP/s, as published"
        )
    if size.config.family != "transformer":
        basis.append(f"assumed, not measured: this {size.config.family} goes at the rates of translators")
    if size.recipe.training.compile:
        basis.append(f"compiled {COMPILED:.2f} times as fast, as the base was; compiling itself comes on top")
    if count > 1:
        basis.append(
            f"assumed, not measured: {count} GPUs share each batch at {EFFICIENCY:.0%} efficiency; what a layer costs "
            "however small its batch is not shared"
        )
    return basis


def put_together(size: RunSize, machine: Machine, seconds: float, prices: Prices, basis: Sequence[str]) -> Forecast:
    """Everything that follows from the time."""
    how, count, watts = size.recipe.training, machine.devices, machine.watts
    largest = max(size.text.shapes, key=lambda shape: shape.rows * max(shape.source, shape.target))
    share = largest._replace(rows=largest.rows / count / how.micro_batches)
    half = how.precision == "bfloat16" or (how.precision == "auto" and machine.half)
    consistent = bool(how.consistency)
    memory = footprint(
        size.parameters, size.config, share, moving=how.average == "moving", half=half, consistency=consistent
    )
    flops = statistics.fmean(update_flops(size.config, shape) for shape in size.text.shapes) * (1 + consistent)
    hours = seconds / 3600 * count
    kwh = None if watts is None else watts * hours / 1000
    cost = {} if prices.hour is None else {"machine": prices.hour * hours}
    cost |= {} if prices.kwh is None or kwh is None else {"energy": prices.kwh * kwh}
    power = [] if watts is None else [f"energy: {watts:g} W all the time, the most that is published or was given"]
    memory_words = f"memory: what stays is exact, what a batch leaves within a factor of {MEMORY:g}"
    return Forecast(
        size.recipe.name, machine.name, count, size.parameters, how.steps, how.steps * size.text.tokens,
        None if size.text.epoch is None else how.steps / size.text.epoch, how.steps * flops, seconds, memory,
        machine.memory, kwh, cost, [*basis, memory_words, *power],
    )  # fmt: skip
