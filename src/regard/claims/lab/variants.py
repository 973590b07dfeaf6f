"""The same task learned by variants of one model, from the same seeds: what each reaches, beside a guess."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from regard.claims.estimates import Estimate, difference, mean_of
from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.fit import Fit, bleu_on, fit_pairs, loss_on
from regard.claims.lab.pair_task import END, PAD, PairIds, PairTask, in_batches, pair_task
from regard.claims.lab.small_models import parameters, small_transformer
from regard.claims.setting import Setting
from regard.models import Transformer

MARGIN = 0.05  # nats a word: less than that, 5 % of perplexity, is called no loss
QUICK = (400, 32, 5e-3)  # steps, sentences a step, highest rate
FULL = (1_000, 256, 2e-3)
LAYERS = (2, 2)  # of encoder and decoder, in both forms
SENTENCES, TESTS = 10_000, 300  # to learn from and to be asked, in the quick form
V = TypeVar("V")
R = TypeVar("R")


class Learned(NamedTuple):
    """What a model has reached on test sentences."""

    loss: float  # nats a word
    bleu: float
    size: int  # parameters


def variant_task(setting: Setting) -> PairTask:
    """Single clauses, all of which a short training learns; in the full form Multi30k."""
    return pair_task(setting) if setting.full else clause_pairs(SENTENCES, 1, TESTS)


def variant_model(
    setting: Setting, task: PairTask, seed: int, layers: tuple[int, int] = LAYERS, **changes: Any
) -> Transformer:
    """The Transformer that the variants are made of."""
    return small_transformer(task, setting, seed, encoder_layers=layers[0], decoder_layers=layers[1], **changes)


def usual_fit(setting: Setting, seed: int) -> Fit:
    steps, batch, rate = setting.quick_or_full(QUICK, FULL)
    return Fit(steps, batch, rate, seed, setting.device)


def learned(setting: Setting, model: nn.Module, task: PairTask, seed: int) -> Learned:
    """Train a model as long as all others of its claim, and see what it has reached."""
    fit_pairs(model, task, usual_fit(setting, seed))
    return Learned(
        loss_on(model, task.test, setting.device), bleu_on(model, task, task.test, setting.device), parameters(model)
    )


def by_variant(setting: Setting, run: Callable[[Setting, tuple[V, int]], R], variants: Sequence[V]) -> dict[V, list[R]]:
    """What a run gives for every variant, seed by seed."""
    cases = [(variant, seed) for variant in variants for seed in setting.seeds]
    results = iter(setting.each(run, cases))
    return {variant: [next(results) for _ in setting.seeds] for variant in variants}


def mean(results: Sequence[R], name: str) -> Estimate:
    """Of one of their numbers, over the seeds."""
    return mean_of([getattr(one, name) for one in results])


def more(results: Sequence[R], control: Sequence[R], name: str) -> Estimate:
    """How much more of it than the control has, seed by seed."""
    return difference([getattr(one, name) for one in results], [getattr(one, name) for one in control])


def guess_loss(task: PairTask) -> float:
    """Nats a word on test sentences of who knows how often each word comes, and nothing else: what chance gives."""
    counts = Counter(word for pair in task.train for word in (*pair.target, END))
    total = counts.total() + task.target.size  # one more for each word, so that none is impossible
    words = [word for pair in task.test for word in (*pair.target, END)]
    return -math.fsum(math.log((counts[word] + 1) / total) for word in words) / len(words)


def guess_remark(task: PairTask) -> str:
    return f"A guess by how often each word comes, without a look at the sentence, has {guess_loss(task):.2f} nats."


@torch.no_grad()
def accuracy_on(model: nn.Module, pairs: tuple[PairIds, ...], device: str = "cpu", size: int = 100) -> float:
    """How often the right word, the end counted as one, is thought likeliest after the right words before it."""
    model.eval()
    right, count = 0, 0
    for batch in in_batches(pairs, size):
        held = batch.to(device)
        words = held.labels != PAD
        right += int(((model(held.source, held.target).argmax(-1) == held.labels) & words).sum())
        count += int(words.sum())
    return right / count
