"""How fast this machine trains: a few updates of a model that is thrown away, of which the run itself sees nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from regard.errors import InputError
from regard.training.data.task_batches import BatchLoader, TaskBatch, part_of
from regard.training.optim.updates import Update

SAMPLED = 40  # batches of an epoch that are looked at to know their sizes
REPEATS = range(3, 21)  # how many updates are timed
SECONDS = 1.0  # after which a measurement is long enough
TOKENS = 2048  # of a batch, as it is measured: of larger ones a part stands for the whole
FAR = 2.0  # times slower at first sight
ENOUGH = 0.9  # of the fastest: as fast with fewer threads leaves the others to others


class Speed(NamedTuple):
    """What one update takes, and how much text it reads."""

    seconds: float
    tokens: float
    weights: int = 0  # of the model, without its embeddings
    model: str = ""  # its sizes, in words

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / max(self.seconds, 1e-9)


@contextmanager
def isolated_rng(device: torch.device) -> Iterator[None]:
    """What is drawn at random inside is as if it had never been drawn."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield


@dataclass
class Probe:
    """An update and the batches it is for; `workers` processes share each of them."""

    update: Update
    loader: BatchLoader
    device: torch.device
    workers: int = 1
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        specs = self.loader.epoch(0)
        if not specs:
            raise InputError("there is nothing to train on", found="no batches", do="give more text")
        sample = [self.loader.build(specs[index]) for index in spread(len(specs), SAMPLED)]
        self.tokens = sum(batch.tokens for batch in sample) / len(sample)
        typical = min(sample, key=lambda batch: abs(batch.tokens - self.tokens))
        large = round(typical.tokens / TOKENS) if self.device.type == "cpu" else 1  # a GPU is quick anyway
        parts = max(self.workers, min(large, len(typical.tensors["labels"])), 1)
        self.batch: TaskBatch = part_of(typical, 0, parts)
        self.measured = typical.tokens * len(self.batch.tensors["labels"]) / len(typical.tensors["labels"])
        self.update(self.batch, 1)  # sets up what is set up once, on a GPU also the recording

    def once(self) -> float:
        """Seconds of one update of the batch that is measured."""
        self.wait()
        begun = self.clock()
        self.update(self.batch, 1)
        self.wait()
        return self.clock() - begun

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def speed(self) -> Speed:
        """Of a whole update of usual size, from the mean of a few."""
        return self.as_speed(mean_seconds(self.once))

    def as_speed(self, seconds: float) -> Speed:
        return Speed(seconds * self.tokens / self.workers / self.measured, self.tokens, weights_of(self.update.model))


def weights_of(model: nn.Module) -> int:
    """All but the tables of embeddings, which a step reads only in part."""
    tables = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    return sum(weight.numel() for weight in model.parameters() if id(weight) not in tables)


def mean_seconds(once: Callable[[], float]) -> float:
    """The mean of as many as make a measurement."""
    spent: list[float] = []
    while len(spent) < REPEATS.start or (sum(spent) < SECONDS and len(spent) < REPEATS[-1]):
        spent.append(once())
        if sum(spent) > 3 * SECONDS:  # so slow that the next one would say nothing new
            break
    return sum(spent) / len(spent)


def spread(count: int, wanted: int) -> list[int]:
    """Up to `wanted` places in a row of `count`, evenly."""
    return [index * count // min(count, wanted) for index in range(min(count, wanted))]


def thread_counts(most: int) -> list[int]:
    """1, 2, 4, ... and all there are."""
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return [*counts, most] if most > 1 else counts


def compare_threads(once: Callable[[int], float], counts: list[int]) -> dict[int, float]:
    """Seconds of an update with so many threads each: in turns, so that what else goes on meets all of them alike.

    What is far slower at first sight is not tried again: threads that wait for each other can take very long.
    """
    first = {count: once(count) for count in counts}
    tried = [count for count in counts if first[count] < FAR * min(first.values())]
    if len(tried) == 1:
        return first
    spent, rounds, enough = dict.fromkeys(tried, 0.0), 0, SECONDS * len(tried)
    while rounds < REPEATS.start or (rounds < REPEATS[-1] and sum(spent.values()) < enough):
        for count in tried:
            spent[count] += once(count)
        rounds += 1
        if sum(spent.values()) > 3 * enough:
            break
    return {count: spent[count] / rounds if count in spent else first[count] for count in counts}


def best_threads(seconds: dict[int, float]) -> int:
    """The fewest that are nearly as fast as the fastest."""
    quickest = min(seconds.values())
    return min(count for count, spent in seconds.items() if quickest >= ENOUGH * spent)
