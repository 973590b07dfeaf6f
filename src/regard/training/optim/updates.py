"""From a batch to better weights.

An update whose loss or gradient is not a number leaves the weights as they were, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.training.data.task_batches import TaskBatch, rows_of
from regard.training.optim.gradients import Gradients
from regard.training.optim.optimizer import Average, optimizer_for, set_rates
from regard.training.optim.schedule import consistency_at
from regard.training.optim.shards import whole
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training


class SkippedSteps(NamedTuple):
    """Updates that were skipped: in a row until now, and in all."""

    in_a_row: int
    total: int


class Update:
    """One step after another: gradients, clipping, the optimizer, the moving average."""

    synchronous = True  # a skipped step is known at once

    def __init__(self, model: nn.Module, how: Training, gradients: Gradients, workers: Workers) -> None:
        self.model, self.how, self.gradients, self.workers = model, how, gradients, workers
        self.optimizer = optimizer_for(model, how)
        self.average = Average(model, how.decay) if how.average == "moving" else None
        self.weights = [weight for weight in model.parameters() if weight.requires_grad]
        self.skipped = SkippedSteps(0, 0)
        self.schedule_position: Callable[[int], float] = float  # where on the schedule a step is

    def __call__(self, batch: TaskBatch, step: int) -> Tensor:
        """The loss before the update."""
        self.gradients.weight.fill_(consistency_at(self.schedule_position(step), self.how))
        mine = rows_of(batch, self.workers.rank, self.workers.count) if self.workers.count > 1 else batch
        before = self.gradients.parts
        loss = self.gradients(mine, batch.words)
        norm = whole(nn.utils.get_total_norm([weight.grad for weight in self.weights if weight.grad is not None]))
        if self.workers.count > 1:
            loss = self.agree(loss, self.gradients.parts != before)
        if not bool(torch.isfinite(loss + norm)):
            self.skipped = SkippedSteps(self.skipped.in_a_row + 1, self.skipped.total + 1)
            return loss
        self.skipped = SkippedSteps(0, self.skipped.total)
        if self.how.clip:
            nn.utils.clip_grads_with_norm_(self.weights, self.how.clip, norm)
        set_rates(self.optimizer, self.schedule_position(step), self.how)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(self.average.share(step))
        return loss

    def agree(self, loss: Tensor, split: bool) -> Tensor:
        """The loss of all processes. Where one of them had to take smaller parts, all do from now on."""
        total, splits = self.workers.total([float(loss), float(split)])
        if splits:
            self.gradients.parts = max(self.workers.gather(self.gradients.parts))
        return loss.new_tensor(total / self.workers.count)
