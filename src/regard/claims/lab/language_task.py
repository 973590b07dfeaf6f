"""Text to continue: rows of ids of the built-in language or of real text, and decoders that learn to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.claims.lab.fit import Fit, fit
from regard.claims.lab.pair_task import END, PAD, START, BytePairIds, Ids, WordIds, lines
from regard.claims.setting import Setting
from regard.errors import InputError
from regard.models import Decoder, DecoderConfig
from regard.text.grammar import sentences
from regard.text.tokenizer import padded

SENTENCES, ASIDE = 20_000, 300  # of the built-in language
VOCABULARY, ROW = 8_000, 128  # byte pairs, and how many of them are a row of real text
RATE = 3e-3  # of a model with 64 numbers a word
CHECKS = 10  # looks at validation text in one training


@dataclass(frozen=True)
class LanguageTask:
    """Rows to learn from and rows kept aside, none with start or end."""

    train: tuple[Ids, ...]
    valid: tuple[Ids, ...]
    vocabulary: int

    def part(self, count: int, seed: int) -> LanguageTask:
        """As many rows to learn from, or all where there are fewer, drawn by a seed."""
        rows = Random(seed).sample(self.train, min(count, len(self.train)))
        return LanguageTask(tuple(rows), self.valid, self.vocabulary)


def language_task(setting: Setting) -> LanguageTask:
    """English sentences of the built-in language in the quick form; in the full form WikiText-2."""
    return wikitext_rows(setting.folder("wikitext-2")) if setting.full else grammar_rows(SENTENCES)


@cache
def grammar_rows(count: int) -> LanguageTask:
    texts = {name: [one.source for one in sentences(name, size)] for name, size in (("train", count), ("valid", ASIDE))}
    words = WordIds(texts["train"])
    train, valid = (tuple(words.encode(text) for text in some) for some in texts.values())
    return LanguageTask(train, valid, words.size)


@cache
def wikitext_rows(folder: Path) -> LanguageTask:
    """Cut where a row is full, wherever that is; the last one, which is not, is left out."""
    texts = {name: [line for line in lines(folder / f"{name}.txt.xz") if line.strip()] for name in ("train", "valid")}
    pieces = BytePairIds(texts["train"], VOCABULARY)

    def rows(some: list[str]) -> tuple[Ids, ...]:
        ids = [one for text in some for one in pieces.encode(text)]
        return tuple(tuple(ids[first : first + ROW]) for first in range(0, len(ids) - ROW + 1, ROW))

    task = LanguageTask(rows(texts["train"]), rows(texts["valid"]), pieces.size)
    if not task.train or not task.valid:
        raise InputError(f"{folder} has too little text", found=f"no row of {ROW} tokens", do="give all of WikiText-2")
    return task


@dataclass(frozen=True)
class RowBatch:
    """Rows side by side, after a start, and their labels one step later."""

    ids: Tensor
    labels: Tensor


def row_batch(rows: Sequence[Ids], device: str) -> RowBatch:
    ids = padded([(START, *row) for row in rows], PAD).ids
    labels = padded([(*row, END) for row in rows], PAD).ids
    return RowBatch(ids.to(device), labels.to(device))


def row_batches(rows: Sequence[Ids], size: int, seed: int, device: str) -> Iterator[RowBatch]:
    """Endless, in another order each time round."""
    rng = Random(seed)
    while True:
        order = rng.sample(range(len(rows)), len(rows))
        for first in range(0, len(order), size):
            yield row_batch([rows[place] for place in order[first : first + size]], device)


def small_decoder(task: LanguageTask, seed: int, dim: int, layers: int = 2) -> Decoder:
    """Heads of 8 numbers or more, 4 of them at most; no dropout, which would hide what text and size do."""
    torch.manual_seed(seed)
    longest = max(len(row) for row in (*task.train, *task.valid)) + 1
    return Decoder(
        DecoderConfig(
            vocabulary=task.vocabulary, dim=dim, heads=max(1, min(4, dim // 8)), feedforward=4 * dim, layers=layers,
            dropout=0.0, positions="learned", max_length=longest, pad=PAD,
        )
    )  # fmt: skip


def rate_for(dim: int) -> float:
    """The highest learning rate: a narrow model takes a higher one."""
    return RATE * math.sqrt(64 / dim)


def next_word_loss(model: nn.Module, batch: RowBatch, reduction: str = "mean") -> Tensor:
    """Nats a word."""
    logits = model(batch.ids)
    return F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD, reduction=reduction)


@torch.no_grad()
def rows_loss(model: nn.Module, rows: Sequence[Ids], device: str, size: int = 100) -> float:
    """Nats a word over all rows; the model learns on where it did."""
    learning = model.training
    model.eval()
    total, count = 0.0, 0
    for first in range(0, len(rows), size):
        batch = row_batch(rows[first : first + size], device)
        total += float(next_word_loss(model, batch, "sum"))
        count += int((batch.labels != PAD).sum())
    model.train(learning)
    return total / count


def fit_rows(model: nn.Module, task: LanguageTask, how: Fit) -> list[float]:
    """Train on the rows; the loss on those kept aside at `CHECKS` times, the last one at the end."""
    valid: list[float] = []
    every = max(1, how.steps // CHECKS)

    def watch(step: int, trained: nn.Module, _: float) -> None:
        if step and step % every == 0:
            valid.append(rows_loss(trained, task.valid, how.device))

    watching = Fit(how.steps, how.batch, how.rate, how.seed, how.device, how.clip, watch)
    fit(model.to(how.device), row_batches(task.train, how.batch, how.seed, how.device), next_word_loss, watching)
    return [*valid, rows_loss(model, task.valid, how.device)]
