"""Batches for each task: what the model reads, and the labels it is scored by."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from regard.text.batches import Budget, Spec, epoch_order, layout, plan
from regard.text.length_classes import LengthClasses
from regard.text.store import Array, Store
from regard.text.subwords import Sampled

Column = Store | Sampled
Columns = tuple[Array, ...]  # of lengths: of source and target, or of one text
BatchTensors = dict[str, Tensor]
IGNORE_INDEX = -100  # the label of a position that no loss is taken at


class TaskBatch(NamedTuple):
    """A batch with its sizes: how many labels there are, and how many tokens were read in all."""

    tensors: BatchTensors
    words: int
    tokens: int


class BatchLoader(Protocol):
    """Epoch after epoch of batches, the same for the same seed."""

    @property
    def sampler(self) -> EpochSampler:
        """What its epochs are drawn by."""

    def lengths(self) -> tuple[Columns, tuple[int, ...]]:
        """How long the rows of the first epoch are, and the longest of any epoch, both by column."""

    def epoch(self, number: int) -> list[Spec]:
        """The batches of an epoch, in order."""

    def build(self, spec: Spec) -> TaskBatch:
        """One of them. Belongs to the epoch that was asked for last."""


@dataclass
class EpochSampler:
    """Which rows an epoch reads, and in which order; the one source of random numbers of all loaders."""

    budget: Budget
    seed: int
    sources: Array = field(default_factory=lambda: np.zeros(0, np.int64))  # the number of each row's source
    weights: tuple[float, ...] = (1.0,)
    shuffled: bool = True
    number: int = 0
    classes: LengthClasses | None = None  # few shapes, for a device that replays them

    def rng(self, *more: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.number, *more))

    def order(self, number: int, count: int) -> Array:
        """The rows of an epoch, some of them perhaps more than once."""
        self.number = number
        sources = self.sources if len(self.sources) else np.zeros(count, np.int64)
        return epoch_order(sources, self.weights, self.rng()) if self.shuffled else np.arange(count)

    def plan(self, number: int, *lengths: Array) -> list[Spec]:
        """The batches of an epoch, from the lengths of its rows, by column."""
        order = self.order(number, len(lengths[0]))
        if self.classes is not None:
            return self.classes.plan(lengths, order, self.rng(1))
        return plan(np.maximum.reduce(lengths), self.budget, order, self.rng(1))

    def fix_shapes(self, lengths: Columns, longest: tuple[int, ...]) -> None:
        """From now on every epoch has the same few shapes: those that suit the first."""
        order = self.order(0, len(lengths[0]))
        if len(order):
            self.classes = LengthClasses.of([column[order] for column in lengths], self.budget, longest)


@dataclass
class PairLoader:
    """Source and target; the decoder reads the target one position later than it should write it."""

    sampler: EpochSampler
    source: Column
    target: Column
    pad: int
    start: int
    links: Store | None = None  # of tokens, each target token before its source token, where a head is guided by them
    now: tuple[Store, Store] | None = None

    def lengths(self) -> tuple[Columns, tuple[int, ...]]:
        columns = self.source, self.target
        return tuple(at(column, 0).lengths for column in columns), tuple(column.longest for column in columns)

    def epoch(self, number: int) -> list[Spec]:
        self.now = at(self.source, number), at(self.target, number)
        return self.sampler.plan(number, self.now[0].lengths, self.now[1].lengths)

    def build(self, spec: Spec) -> TaskBatch:
        assert self.now is not None
        source = layout(self.now[0], spec, self.pad)
        target = layout(self.now[1], spec, self.pad, first=self.start, column=1)
        labels = labels_of(target[:, 1:], self.now[1], spec)
        words = int((labels != IGNORE_INDEX).sum())
        lengths = self.now[0].starts[spec.numbers + 1] - self.now[0].starts[spec.numbers]
        tensors = {"source": source, "target": target[:, :-1].contiguous(), "labels": labels}
        if self.links is not None:
            tensors["links"] = linked(self.links, spec, tensors["target"].shape[1], source.shape[1])
        return TaskBatch(tensors, words, words + int(lengths.sum()))


def at(column: Column, epoch: int) -> Store:
    return column.epoch(epoch) if isinstance(column, Sampled) else column


def linked(links: Store, spec: Spec, queries: int, keys: int) -> Tensor:
    """(rows, queries, keys): True where the token that the decoder reads in a row is linked to a source token."""
    ids, lengths = links.rows(spec.numbers)
    target, source = ids.reshape(-1, 2).T
    table = np.zeros((spec.rows, queries, keys), np.bool_)
    table[np.repeat(np.arange(len(lengths)), lengths // 2), target + 1, source] = True  # after the start
    return torch.from_numpy(table)


def labels_of(ids: Tensor, store: Store, spec: Spec) -> Tensor:
    """The ids that were written, none where a row is filled up: what fills up may be a word elsewhere."""
    lengths = torch.zeros(spec.rows, dtype=torch.long)
    lengths[: len(spec.numbers)] = torch.from_numpy(store.starts[spec.numbers + 1] - store.starts[spec.numbers])
    return ids.masked_fill(torch.arange(ids.shape[1]) >= lengths[:, None], IGNORE_INDEX)


@dataclass
class BlockLoader:
    """One long text in blocks of equal length, cut at other positions each epoch."""

    sampler: EpochSampler
    text: Array
    block: int
    shift: int = 0

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return max((len(self.text) - 1) // self.block, 1)

    def lengths(self) -> tuple[Columns, tuple[int, ...]]:
        return (np.full(self.count, self.block),), (self.block,)

    def epoch(self, number: int) -> list[Spec]:
        count = self.count
        self.sampler.number = number
        spare = len(self.text) - 1 - count * self.block
        self.shift = int(self.sampler.rng(2).integers(0, spare + 1)) if self.sampler.shuffled and spare > 0 else 0
        return self.sampler.plan(number, np.full(count, self.block))

    def build(self, spec: Spec) -> TaskBatch:
        width = min(self.block, len(self.text) - 1)
        positions = self.shift + spec.filled[:, None] * self.block + np.arange(width + 1)[None, :]
        ids = torch.from_numpy(self.text[positions].astype(np.int64))
        labels = ids[:, 1:].clone()
        labels[len(spec.numbers) :] = IGNORE_INDEX
        words = len(spec.numbers) * width
        return TaskBatch({"ids": ids[:, :-1].contiguous(), "labels": labels}, words, words)


@dataclass
class MaskedLoader:
    """Some words hidden: most of them behind the mask, some behind another word, some left as they are."""

    sampler: EpochSampler
    text: Store
    pad: int
    mask: int
    vocabulary: int
    special: tuple[int, ...]
    share: float

    def lengths(self) -> tuple[Columns, tuple[int, ...]]:
        return (self.text.lengths,), (self.text.longest,)

    def epoch(self, number: int) -> list[Spec]:
        return self.sampler.plan(number, self.text.lengths)

    def build(self, spec: Spec) -> TaskBatch:
        ids = layout(self.text, spec, self.pad)
        rng = self.sampler.rng(3, int(spec.numbers[0]))
        words = ~torch.isin(ids, torch.tensor(self.special)) & (labels_of(ids, self.text, spec) != IGNORE_INDEX)
        hidden = words & torch.from_numpy(rng.random(ids.shape) < self.share)
        kind = torch.from_numpy(rng.random(ids.shape))
        other = torch.from_numpy(rng.integers(0, self.vocabulary, ids.shape))
        shown = torch.where(hidden & (kind < 0.8), torch.tensor(self.mask), ids)
        shown = torch.where(hidden & (kind >= 0.9), other, shown)
        labels = ids.masked_fill(~hidden, IGNORE_INDEX)
        return TaskBatch({"ids": shown, "labels": labels}, max(int(hidden.sum()), 1), int(words.sum()))


@dataclass
class LabelledLoader:
    """Texts and the number of each one's label."""

    sampler: EpochSampler
    text: Store
    labels: Array
    pad: int

    def lengths(self) -> tuple[Columns, tuple[int, ...]]:
        return (self.text.lengths,), (self.text.longest,)

    def epoch(self, number: int) -> list[Spec]:
        return self.sampler.plan(number, self.text.lengths)

    def build(self, spec: Spec) -> TaskBatch:
        ids = layout(self.text, spec, self.pad)
        labels = torch.full((spec.rows,), IGNORE_INDEX)
        labels[: len(spec.numbers)] = torch.from_numpy(self.labels[spec.numbers])
        return TaskBatch({"ids": ids, "labels": labels}, len(spec.numbers), int(self.text.rows(spec.numbers)[1].sum()))


def part_of(batch: TaskBatch, number: int, parts: int) -> TaskBatch:
    """The rows of one worker, or of one micro-batch: number, number + parts, ...; the sizes stay those of the whole."""
    return batch._replace(tensors={name: tensor[number::parts] for name, tensor in batch.tensors.items()})


def rows_of(batch: TaskBatch, number: int, parts: int) -> TaskBatch:
    """As `part_of`, but never empty: a worker without rows gets one without labels, and takes part like the others."""
    part = part_of(batch, number, parts)
    if len(part.tensors["labels"]):
        return part
    tensors = {name: tensor[:1] for name, tensor in batch.tensors.items()}
    tensors |= {name: torch.zeros_like(tensor) for name, tensor in tensors.items() if name == "links"}
    return batch._replace(tensors={**tensors, "labels": torch.full_like(tensors["labels"], IGNORE_INDEX)})


def in_order(sampler: EpochSampler) -> EpochSampler:
    """The same without shuffling, for validation."""
    return replace(sampler, shuffled=False, weights=(1.0,), sources=np.zeros(0, np.int64))
