"""What is made small. Every loss is a sum over words; the loop divides by how many there are in the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.training.recipe.recipe import Recipe

Batch = dict[str, Tensor]
Model = Callable[..., Tensor]
Objective = Callable[[Any, Batch, Tensor], Tensor]  # the last: how much two passes must agree
IGNORED = -100  # a place whose word is not asked for


def objective_for(recipe: Recipe) -> Objective:
    """The loss of a batch under a model, as the recipe asks for it."""
    forward, smoothing, alone = FORWARDS[recipe.task], recipe.training.smoothing, not recipe.training.consistency

    def objective(model: Model, batch: Batch, weight: Tensor) -> Tensor:
        if alone:
            return entropy(forward(model, batch), batch["truth"], smoothing)
        return agreeing(forward, model, batch, smoothing, weight)

    return objective


def translate(model: Model, batch: Batch) -> Tensor:
    return model(batch["source"], batch["target"])


def read(model: Model, batch: Batch) -> Tensor:
    return model(batch["ids"])


FORWARDS: dict[str, Callable[[Model, Batch], Tensor]] = {
    "translate": translate,
    "generate": read,
    "mask": read,
    "classify": read,
}


def entropy(logits: Tensor, truth: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy summed over the words asked for, a share `smoothing` of the truth spread over the vocabulary."""
    return F.cross_entropy(
        logits.flatten(0, -2).float(), truth.flatten(), ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum"
    )


def agreeing(
    forward: Callable[[Model, Batch], Tensor], model: Model, batch: Batch, smoothing: float, weight: Tensor
) -> Tensor:
    """R-Drop: the batch goes through twice with other dropout, and the two answers must agree as well as be right."""
    twice = {name: torch.cat([tensor, tensor]) for name, tensor in batch.items()}
    logits = forward(model, twice).float()
    right = entropy(logits, twice["truth"], smoothing) / 2
    one, other = logits.log_softmax(-1).chunk(2)
    apart = ((one.exp() - other.exp()) * (one - other)).sum(-1) / 2  # the mean of both divergences
    return right + weight * apart.masked_fill(batch["truth"] == IGNORED, 0.0).sum()
