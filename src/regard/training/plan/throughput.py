"""How long an update takes on a GPU that is not here: from runs that were made, and what makers publish.

Three things take the time of an update, and two of them are fitted to the runs in data/measured.toml:

    seconds = layers x A  +  numbers read and written x B  +  operations / (PRODUCTS x peak)

A is what a layer costs however small it is (its kernels, one after the other), B goes with the speed of the memory.
PRODUCTS, the share of the peak that matrix products reach, was measured by itself; how many numbers pass through memory
was counted by hand, with these runs in view. On another GPU B is scaled by its
published bandwidth, the last by its published peak, and A stays.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from regard.errors import InputError, UnknownNameError
from regard.models.config import BlockConfig, Config, DecoderConfig, EncoderConfig, TransformerConfig
from regard.training.plan.flops import BatchShape, update_flops

PRODUCTS = 0.69  # matrix products of the base: 5.9 TFLOP in 8.7 ms of a compiled step on an H200, of 989 TFLOP/s
COMPILED = 0.86 / 0.62  # times as fast when compiled: `regard train`, the base on Tatoeba, H200
FILLED = 0.93  # of a batch's positions hold a word, by the two speeds and times of the small general translator
LENGTH = 32  # tokens of a text where nobody has seen it: only what attention does between positions hangs on it
SUBLAYER, INNER, WORDS, AGREEMENT = 15, 4, 6, 10  # numbers passed through memory for each position, counted by hand


class Gpu(NamedTuple):
    """A board, by what its maker publishes."""

    key: str
    name: str
    tflops: float
    bandwidth: float  # TB/s
    memory: float  # GB
    watts: float


class FittedRates(NamedTuple):
    """What the runs say: seconds a layer, and seconds a number at 1 TB/s."""

    layer: float
    number: float


@dataclass(frozen=True)
class MeasuredRun:
    """A run that was made."""

    name: str
    group: str
    gpu: Gpu
    steps: int
    batch_tokens: int
    config: TransformerConfig
    consistency: bool
    real_seconds: float  # of all steps

    @property
    def work(self) -> UpdateWork:
        return work_of(self.config, assumed_shape(self.batch_tokens), self.consistency)


class UpdateWork(NamedTuple):
    """What an update asks of a machine."""

    layers: int
    numbers: float
    flops: float


def read_data(name: str) -> dict[str, Any]:
    file = resources.files("regard") / "training" / "plan" / "data" / name
    return tomllib.loads(file.read_text(encoding="utf-8"))


@cache
def gpus() -> dict[str, Gpu]:
    return {key: Gpu(key, **board) for key, board in read_data("gpus.toml").items()}


def find_gpu(name: str) -> Gpu:
    key = name.lower()
    if key not in gpus():
        raise UnknownNameError("GPU", name, [*gpus(), "cpu"])
    return gpus()[key]


@cache
def measured_runs() -> tuple[MeasuredRun, ...]:
    return tuple(
        MeasuredRun(
            run["name"], run["group"], find_gpu(run["gpu"]), run["steps"], run["batch_tokens"],
            TransformerConfig(**run["model"]), run.get("consistency", False),
            run.get("seconds") or run["steps"] * 2 * FILLED * run["batch_tokens"] / run["tokens_per_second"],
        )
        for run in read_data("measured.toml")["run"]
    )  # fmt: skip


def assumed_shape(batch_tokens: int, length: float = LENGTH) -> BatchShape:
    """Pairs as nobody has seen them: both sides as long."""
    return BatchShape(batch_tokens / length, length, length)


def work_of(config: Config, shape: BatchShape, consistency: bool = False) -> UpdateWork:
    """With consistency each row goes through twice."""
    if not isinstance(config, BlockConfig):
        raise InputError(
            "no run of a recurrent model on a GPU was ever measured", do="leave out --gpu to measure this machine"
        )
    shape = shape._replace(rows=shape.rows * (2 if consistency else 1))
    return UpdateWork(layers_of(config), numbers_of(config, shape, consistency), update_flops(config, shape))


def layers_of(config: BlockConfig) -> int:
    if isinstance(config, TransformerConfig):
        return config.encoder_layers + config.decoder_layers
    assert isinstance(config, (DecoderConfig, EncoderConfig))
    return config.layers


def numbers_of(config: BlockConfig, shape: BatchShape, consistency: bool) -> float:
    """Numbers that an update reads and writes beside its matrix products: norms, dropout, sums, softmaxes, losses."""
    words = WORDS + (AGREEMENT if consistency else 0)
    d, f = config.dim, config.feedforward
    source, target = shape.rows * shape.source, shape.rows * shape.target
    if isinstance(config, TransformerConfig):
        encoder = config.encoder_layers * source * (2 * SUBLAYER * d + INNER * f)
        decoder = config.decoder_layers * target * (3 * SUBLAYER * d + INNER * f)
        return encoder + decoder + words * target * config.target_vocabulary
    assert isinstance(config, (DecoderConfig, EncoderConfig))
    logits = 0 if isinstance(config, EncoderConfig) and config.head != "mask" else words * source * config.vocabulary
    return config.layers * source * (2 * SUBLAYER * d + INNER * f) + logits


def product_seconds(work: UpdateWork, gpu: Gpu) -> float:
    return work.flops / (PRODUCTS * gpu.tflops * 1e12)


def fit(runs: Sequence[MeasuredRun]) -> FittedRates:
    """The two rates whose errors, as shares of what was measured, are smallest; neither can be negative."""
    rows, rest = [], []
    for run in runs:
        real = run.real_seconds / run.steps
        rows.append([run.work.layers / real, run.work.numbers / run.gpu.bandwidth / real])
        rest.append(1 - product_seconds(run.work, run.gpu) / real)
    table, wanted = np.array(rows), np.array(rest)
    both = np.linalg.lstsq(table, wanted, rcond=None)[0]
    if (both < 0).any():  # one of them alone, whichever explains more
        alone = [np.eye(2)[n] * max(table[:, n] @ wanted / (table[:, n] @ table[:, n]), 0.0) for n in range(2)]
        both = min(alone, key=lambda rates: float(((table @ rates - wanted) ** 2).sum()))
    return FittedRates(float(both[0]), float(both[1]))


def update_seconds(work: UpdateWork, gpu: Gpu, rates: FittedRates, workers: int = 1) -> float:
    """Of one update; `workers` GPUs share its rows, and what a layer costs by itself stays."""
    shared = rates.number * work.numbers / gpu.bandwidth + product_seconds(work, gpu)
    return rates.layer * work.layers + shared / workers


def left_out(run: MeasuredRun) -> float:
    """Seconds that the other runs would have said this one takes."""
    rates = fit([other for other in measured_runs() if other.group != run.group])
    return run.steps * update_seconds(run.work, run.gpu, rates)
