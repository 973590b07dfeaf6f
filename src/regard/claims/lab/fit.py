"""A short training run that shows what happens inside: losses, gradients, and scores at the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.claims.lab.pair_task import END, PAD, PairBatch, PairIds, PairTask, batches, in_batches
from regard.decoding import Limits, greedy, stepper_for
from regard.text.scores.bleu import bleu

CLIP = 1.0
RISE = 0.1  # of the steps, until the rate is highest


@dataclass(frozen=True)
class Fit:
    """How long and how fast a model learns. `watch` is called after the gradients of each step are there."""

    steps: int = 600
    batch: int = 64
    rate: float = 2e-3
    seed: int = 0
    device: str = "cpu"
    clip: float = CLIP
    watch: Callable[[int, nn.Module, float], None] | None = field(default=None, compare=False)


def fit(
    model: nn.Module, examples: Iterator[Any], loss_of: Callable[[nn.Module, Any], Tensor], how: Fit
) -> list[float]:
    """Train in place, and give the loss of each step. AdamW; the rate rises in a line and falls in a line."""
    optimizer = torch.optim.AdamW(model.parameters(), how.rate, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_share(step, how.steps))
    model.train()
    losses = []
    for step, batch in enumerate(islice(examples, how.steps)):
        loss = loss_of(model, batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        losses.append(float(loss.detach()))
        if how.watch is not None:
            how.watch(step, model, losses[-1])
        nn.utils.clip_grad_norm_(model.parameters(), how.clip)
        optimizer.step()
        schedule.step()
    model.eval()
    return losses


def rate_share(step: int, steps: int) -> float:
    """Of the highest rate, at step 0, 1, ..."""
    rise = max(1, round(RISE * steps))
    return min((step + 1) / rise, (steps - step) / max(1, steps - rise))


def fit_pairs(model: nn.Module, task: PairTask, how: Fit) -> list[float]:
    """Train a translator on the pairs of a task."""
    examples = (batch.to(how.device) for batch in batches(task.train, how.batch, how.seed))
    return fit(model.to(how.device), examples, pair_loss, how)


def pair_loss(model: nn.Module, batch: PairBatch) -> Tensor:
    """Nats a word."""
    logits = model(batch.source, batch.target)
    return F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD)


@torch.no_grad()
def loss_on(model: nn.Module, pairs: tuple[PairIds, ...], device: str = "cpu", size: int = 100) -> float:
    """Nats a word, over all pairs, the end counted as a word."""
    model.eval()
    total, count = 0.0, 0
    for batch in in_batches(pairs, size):
        held = batch.to(device)
        logits = model(held.source, held.target)
        total += float(F.cross_entropy(logits.flatten(0, 1), held.labels.flatten(), ignore_index=PAD, reduction="sum"))
        count += int((held.labels != PAD).sum())
    return total / count


@torch.no_grad()
def translate(model: Any, pairs: tuple[PairIds, ...], device: str = "cpu", size: int = 100) -> list[tuple[int, ...]]:
    """Greedy translations as ids."""
    model.eval()
    outputs: list[tuple[int, ...]] = []
    for batch in in_batches(pairs, size):
        stepper, prompt = stepper_for(model, batch.source.to(device))
        longest = 2 * batch.source.shape[1] + 10
        outputs += [one.ids for one in greedy(stepper, prompt, Limits(longest, (END,)))]
    return outputs


def bleu_on(model: Any, task: PairTask, pairs: tuple[PairIds, ...], device: str = "cpu") -> float:
    """sacreBLEU of greedy translations, in the task's own words."""
    outputs = [task.target.decode(ids) for ids in translate(model, pairs, device)]
    return bleu(outputs, [task.target.decode(pair.target) for pair in pairs]).value


def gradient_norm(module: nn.Module) -> float:
    """Of all its parameters together."""
    return math.sqrt(
        sum(float(one.grad.double().square().sum()) for one in module.parameters() if one.grad is not None)
    )
