"""What is made small. Every loss is a sum over words; the loop divides by how many there are in the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.models.layers import Projection
from regard.training.data.task_batches import IGNORE_INDEX, BatchTensors
from regard.training.optim.guided_alignment import with_guided_alignment
from regard.training.optim.linear_cross_entropy import linear_cross_entropy
from regard.training.recipe.recipe import Recipe

HELD = 1 << 28  # logits that are held together: 1 GiB in float32, and as much again for their gradients
Model = Callable[..., Tensor]
Forward = Callable[..., Tensor]  # (model, batch[, project])
Objective = Callable[[Any, BatchTensors, Tensor], Tensor]  # the last: how much two passes must agree


def objective_for(recipe: Recipe) -> Objective:
    """The loss of a batch under a model, as the recipe asks for it."""
    how, forward = recipe.training, FORWARDS[recipe.task]
    smoothing, alone = how.smoothing, not how.consistency

    def objective(model: Model, batch: BatchTensors, weight: Tensor) -> Tensor:
        if alone:
            return forward(model, batch, partial(projected_loss, labels=batch["labels"], smoothing=smoothing))
        return r_drop_loss(forward, model, batch, smoothing, weight)

    if not how.guided_alignment:
        return objective
    return with_guided_alignment(objective, how.guided_alignment, how.guided_head)


def translate(model: Model, batch: BatchTensors, project: Projection = F.linear) -> Tensor:
    return model(batch["source"], batch["target"], project=project)


def read(model: Model, batch: BatchTensors, project: Projection = F.linear) -> Tensor:
    return model(batch["ids"], project=project)


FORWARDS: dict[str, Forward] = {
    "translate": translate,
    "generate": read,
    "mask": read,
    "classify": read,
}


def projected_loss(x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, smoothing: float) -> Tensor:
    """The loss in place of the logits: from all of them, or, where they are too many to hold, some at a time."""
    if labels.numel() * len(weight) > HELD:
        return linear_cross_entropy(x, weight, bias, labels, smoothing, IGNORE_INDEX)
    return summed_cross_entropy(F.linear(x, weight, bias), labels, smoothing)


def summed_cross_entropy(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Cross-entropy summed over the words asked for, a share `smoothing` of each label spread over the vocabulary."""
    return F.cross_entropy(
        logits.flatten(0, -2).float(),
        labels.flatten(),
        ignore_index=IGNORE_INDEX,
        label_smoothing=smoothing,
        reduction="sum",
    )


def r_drop_loss(forward: Forward, model: Model, batch: BatchTensors, smoothing: float, weight: Tensor) -> Tensor:
    """R-Drop: the batch goes through twice with other dropout, and the two answers must agree as well as be right."""
    twice = {name: torch.cat([tensor, tensor]) for name, tensor in batch.items()}
    logits = forward(model, twice).float()
    right = summed_cross_entropy(logits, twice["labels"], smoothing) / 2
    one, other = logits.log_softmax(-1).chunk(2)
    apart = ((one.exp() - other.exp()) * (one - other)).sum(-1) / 2  # the mean of both divergences
    return right + weight * apart.masked_fill(batch["labels"] == IGNORE_INDEX, 0.0).sum()
