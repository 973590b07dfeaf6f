"""Batches for each task: what the model reads, and what it should have said."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from regard.text.batches import Budget, Spec, epoch_order, layout, plan
from regard.text.store import Array, Store
from regard.text.subwords import Sampled
from regard.training.optim.loss import IGNORED, Batch

Column = Store | Sampled


class Fed(NamedTuple):
    """A batch with its sizes: how many words are asked for, and how many tokens were read in all."""

    batch: Batch
    words: int
    tokens: int


class Feed(Protocol):
    """Epoch after epoch of batches, the same for the same seed."""

    def epoch(self, number: int) -> list[Spec]:
        """The batches of an epoch, in order."""

    def build(self, spec: Spec) -> Fed:
        """One of them. Belongs to the epoch that was asked for last."""


@dataclass
class Rows:
    """Which rows an epoch reads, and in which order; one place of chance for all feeds."""

    budget: Budget
    seed: int
    sources: Array = field(default_factory=lambda: np.zeros(0, np.int64))  # the number of each row's source
    weights: tuple[float, ...] = (1.0,)
    shuffled: bool = True
    number: int = 0

    def chance(self, *more: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, self.number, *more))

    def plan(self, number: int, lengths: Array) -> list[Spec]:
        self.number = number
        sources = self.sources if len(self.sources) else np.zeros(len(lengths), np.int64)
        order = epoch_order(sources, self.weights, self.chance()) if self.shuffled else np.arange(len(lengths))
        return plan(lengths, self.budget, order, self.chance(1))


@dataclass
class Pairs:
    """Source and target; the decoder reads the target one place later than it should say it."""

    rows: Rows
    source: Column
    target: Column
    pad: int
    start: int
    now: tuple[Store, Store] | None = None

    def epoch(self, number: int) -> list[Spec]:
        self.now = at(self.source, number), at(self.target, number)
        return self.rows.plan(number, np.maximum(self.now[0].lengths, self.now[1].lengths))

    def build(self, spec: Spec) -> Fed:
        assert self.now is not None
        source = layout(self.now[0], spec, self.pad)
        target = layout(self.now[1], spec, self.pad, first=self.start)
        truth = asked(target[:, 1:], self.now[1], spec)
        words = int((truth != IGNORED).sum())
        lengths = self.now[0].starts[spec.numbers + 1] - self.now[0].starts[spec.numbers]
        batch = {"source": source, "target": target[:, :-1].contiguous(), "truth": truth}
        return Fed(batch, words, words + int(lengths.sum()))


def at(column: Column, epoch: int) -> Store:
    return column.epoch(epoch) if isinstance(column, Sampled) else column


def asked(ids: Tensor, store: Store, spec: Spec) -> Tensor:
    """The ids that were written, none where a row is filled up: what fills up may be a word elsewhere."""
    lengths = torch.zeros(spec.rows, dtype=torch.long)
    lengths[: len(spec.numbers)] = torch.from_numpy(store.starts[spec.numbers + 1] - store.starts[spec.numbers])
    return ids.masked_fill(torch.arange(ids.shape[1]) >= lengths[:, None], IGNORED)


@dataclass
class Blocks:
    """One long text in blocks of equal length, cut at other places each epoch."""

    rows: Rows
    text: Array
    block: int
    shift: int = 0

    def epoch(self, number: int) -> list[Spec]:
        count = max((len(self.text) - 1) // self.block, 1)
        self.rows.number = number
        spare = len(self.text) - 1 - count * self.block
        self.shift = int(self.rows.chance(2).integers(0, spare + 1)) if self.rows.shuffled and spare > 0 else 0
        return self.rows.plan(number, np.full(count, self.block))

    def build(self, spec: Spec) -> Fed:
        width = min(self.block, len(self.text) - 1)
        places = self.shift + spec.filled[:, None] * self.block + np.arange(width + 1)[None, :]
        ids = torch.from_numpy(self.text[places].astype(np.int64))
        truth = ids[:, 1:].clone()
        truth[len(spec.numbers) :] = IGNORED
        words = len(spec.numbers) * width
        return Fed({"ids": ids[:, :-1].contiguous(), "truth": truth}, words, words)


@dataclass
class Masked:
    """Some words hidden: most of them behind the mask, some behind another word, some left as they are."""

    rows: Rows
    text: Store
    pad: int
    mask: int
    vocabulary: int
    special: tuple[int, ...]
    share: float

    def epoch(self, number: int) -> list[Spec]:
        return self.rows.plan(number, self.text.lengths)

    def build(self, spec: Spec) -> Fed:
        ids = layout(self.text, spec, self.pad)
        chance = self.rows.chance(3, int(spec.numbers[0]))
        words = ~torch.isin(ids, torch.tensor(self.special)) & (asked(ids, self.text, spec) != IGNORED)
        hidden = words & torch.from_numpy(chance.random(ids.shape) < self.share)
        how = torch.from_numpy(chance.random(ids.shape))
        other = torch.from_numpy(chance.integers(0, self.vocabulary, ids.shape))
        shown = torch.where(hidden & (how < 0.8), torch.tensor(self.mask), ids)
        shown = torch.where(hidden & (how >= 0.9), other, shown)
        truth = ids.masked_fill(~hidden, IGNORED)
        return Fed({"ids": shown, "truth": truth}, max(int(hidden.sum()), 1), int(words.sum()))


@dataclass
class Labelled:
    """Texts and the number of each one's label."""

    rows: Rows
    text: Store
    labels: Array
    pad: int

    def epoch(self, number: int) -> list[Spec]:
        return self.rows.plan(number, self.text.lengths)

    def build(self, spec: Spec) -> Fed:
        ids = layout(self.text, spec, self.pad)
        truth = torch.full((spec.rows,), IGNORED)
        truth[: len(spec.numbers)] = torch.from_numpy(self.labels[spec.numbers])
        return Fed({"ids": ids, "truth": truth}, len(spec.numbers), int(self.text.rows(spec.numbers)[1].sum()))


def part_of(fed: Fed, number: int, parts: int) -> Fed:
    """The rows of one worker, or of one micro-batch: number, number + parts, ...; the sizes stay those of the whole."""
    return fed._replace(batch={name: tensor[number::parts] for name, tensor in fed.batch.items()})


def in_order(rows: Rows) -> Rows:
    """The same without chance, for validation."""
    return replace(rows, shuffled=False, weights=(1.0,), sources=np.zeros(0, np.int64))
