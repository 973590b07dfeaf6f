"""Guided alignment (Garg et al. 2019): one head of the decoder learns to look where its words are linked to.

A target word is asked about in the row where it is the decoder's input, as Shift-Att reads it: there the head knows the
word, and what it has to find is where that came from; at the end of the source, where it came from no word. The model
knows nothing of it: the head's steps are seen through its seam.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.errors import InputError
from regard.lens.alignment.links import AttentionReading, candidates
from regard.lens.alignment.pairs import cross_sites
from regard.models import seams
from regard.models.seam import Attend
from regard.training.data.task_batches import BatchTensors

Loss = Callable[[Any, BatchTensors, Tensor], Tensor]  # of a batch under a model
LOWEST = -1e4  # for a score of what may not be seen: a finite one has a gradient


def guided_reading(model: nn.Module, name: str = "") -> AttentionReading:
    """Where a model is guided and read; by default the first head of the last decoder layer but one."""
    sites = cross_sites(model)
    if not name:
        return AttentionReading(list(sites)[-2:][0], (0,), "input", end=True)
    reading = AttentionReading.parse(f"{name}:input:end")
    candidates(sites, reading.site)  # refuses one that is not there
    if len(reading.heads) != 1 or reading.heads[0] not in sites[reading.site]:
        raise InputError(
            "one head of a site is guided",
            found=f"training.guided_head = {name!r}",
            do=f"choose {reading.site}:0 up to {reading.site}:{len(sites[reading.site]) - 1}",
        )
    return reading


def with_guided_alignment(objective: Loss, weight: float, name: str = "") -> Loss:
    """The same loss, and `weight` times how far the head is from the links of the batch."""

    def guided(model: Any, batch: BatchTensors, agreement: Tensor) -> Tensor:
        with seen_head(model, guided_reading(model, name)) as captured:
            loss = objective(model, batch, agreement)
        return loss + weight * link_loss(captured[-1], batch["links"])

    return guided


@contextmanager
def seen_head(model: nn.Module, reading: AttentionReading) -> Iterator[list[Tensor]]:
    """For the length of a with block, the log weights (B, Q, K) of one head each time that the model attends there."""
    captured: list[Tensor] = []
    head = slice(reading.heads[0], reading.heads[0] + 1)

    def look(site: str, call: Attend, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        with torch.autocast(query.device.type, enabled=False):
            parts = (part[:, head].float() for part in (query, key, value))
            _, steps = attend(*parts, mask=options.get("mask"), see="steps")
            captured.append(steps.masked.clamp(min=LOWEST).log_softmax(-1)[:, 0])
        return call(query, key, value, **options)

    with seams(model)[reading.site].hooked(look, innermost=True):
        yield captured


def link_loss(log_weights_BQK: Tensor, links_BQK: Tensor) -> Tensor:
    """Cross-entropy summed over rows that have links, each row's spread evenly over what it is linked to.

    Where the batch went through several times, as in R-Drop, the mean over these.
    """
    wanted = links_BQK.to(log_weights_BQK.dtype)
    wanted = wanted / wanted.sum(-1, keepdim=True).clamp(min=1)
    passes = log_weights_BQK.unflatten(0, (-1, len(links_BQK)))
    total: Tensor = -(wanted * passes).sum() / len(passes)
    return total
