"""What is made small. Every loss is a sum over words; the loop divides by how many there are in the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.training.data.task_batches import IGNORE_INDEX, BatchTensors
from regard.training.recipe.recipe import Recipe

Model = Callable[..., Tensor]
Objective = Callable[[Any, BatchTensors, Tensor], Tensor]  # the last: how much two passes must agree


def objective_for(recipe: Recipe) -> Objective:
    """The loss of a batch under a model, as the recipe asks for it."""
    forward, smoothing, alone = FORWARDS[recipe.task], recipe.training.smoothing, not recipe.training.consistency

    def objective(model: Model, batch: BatchTensors, weight: Tensor) -> Tensor:
        if alone:
            return summed_cross_entropy(forward(model, batch), batch["labels"], smoothing)
        return r_drop_loss(forward, model, batch, smoothing, weight)

    return objective


def translate(model: Model, batch: BatchTensors) -> Tensor:
    return model(batch["source"], batch["target"])


def read(model: Model, batch: BatchTensors) -> Tensor:
    return model(batch["ids"])


FORWARDS: dict[str, Callable[[Model, BatchTensors], Tensor]] = {
    "translate": translate,
    "generate": read,
    "mask": read,
    "classify": read,
}


def summed_cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy summed over the words asked for, a share `smoothing` of each label spread over the vocabulary."""
    return F.cross_entropy(
        logits.flatten(0, -2).float(),
        labels.flatten(),
        ignore_index=IGNORE_INDEX,
        label_smoothing=smoothing,
        reduction="sum",
    )


def r_drop_loss(
    forward: Callable[[Model, BatchTensors], Tensor],
    model: Model,
    batch: BatchTensors,
    smoothing: float,
    weight: Tensor,
) -> Tensor:
    """R-Drop: the batch goes through twice with other dropout, and the two answers must agree as well as be right."""
    twice = {name: torch.cat([tensor, tensor]) for name, tensor in batch.items()}
    logits = forward(model, twice).float()
    right = summed_cross_entropy(logits, twice["labels"], smoothing) / 2
    one, other = logits.log_softmax(-1).chunk(2)
    apart = ((one.exp() - other.exp()) * (one - other)).sum(-1) / 2  # the mean of both divergences
    return right + weight * apart.masked_fill(batch["labels"] == IGNORE_INDEX, 0.0).sum()
