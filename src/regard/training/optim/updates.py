"""From a batch to better weights: plainly, or as a recording that a GPU replays.

An update whose loss or gradient is not a number leaves the weights as they were, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.training.data.task_batches import BatchTensors, TaskBatch, rows_of
from regard.training.optim.gradients import Gradients, zero_gradients
from regard.training.optim.optimizer import Average, optimizer_for, set_rate
from regard.training.optim.schedule import consistency_at, rate_at
from regard.training.optim.shards import whole
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training

WARM = 2  # runs before a recording, in which libraries set themselves up


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
        set_rate(self.optimizer, rate_at(self.schedule_position(step), self.how))
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


class GraphUpdate(Update):
    """On a GPU, where small models wait for launches: each shape's whole update is recorded once as a CUDA graph.

    Nothing of it waits for the processor, so skipped steps are counted on the GPU and known when they are asked for.
    Only whole batches are recorded; once memory has run out and they go through in parts, everything is plain.
    """

    synchronous = False

    def __init__(self, model: nn.Module, how: Training, gradients: Gradients, workers: Workers) -> None:
        device = next(model.parameters()).device
        self.average_share, self.bad, self.in_a_row, self.total = (torch.zeros((), device=device) for _ in range(4))
        super().__init__(model, how, gradients, workers)
        self.recordings: dict[tuple[Any, ...], Callable[[BatchTensors], Tensor]] = {}
        self.pool: Any = None

    @property
    def skipped(self) -> SkippedSteps:
        """One count for steps of both kinds, and for what a checkpoint counted: it stands on the GPU."""
        return SkippedSteps(int(self.in_a_row), int(self.total))

    @skipped.setter
    def skipped(self, counted: SkippedSteps) -> None:
        self.in_a_row.fill_(counted.in_a_row)
        self.total.fill_(counted.total)

    def __call__(self, batch: TaskBatch, step: int) -> Tensor:
        shape = tuple((name, tuple(tensor.shape)) for name, tensor in batch.tensors.items())
        try:
            if self.gradients.parts == 1 and shape not in self.recordings:
                self.recordings[shape] = self.record(batch.tensors)
        except torch.OutOfMemoryError as error:
            self.recordings.clear()
            self.gradients.split(batch, error)
        if self.gradients.parts > 1:
            self.optimizer.found_inf = None  # type: ignore[attr-defined]  # what held for the last whole batch
            return super().__call__(batch, step)
        set_rate(self.optimizer, rate_at(self.schedule_position(step), self.how))
        self.gradients.words.fill_(1.0 / max(batch.words, 1))
        self.gradients.weight.fill_(consistency_at(self.schedule_position(step), self.how))
        if self.average is not None:
            self.average_share.fill_(self.average.share(step))
        return self.recordings[shape](batch.tensors)

    def record(self, example: BatchTensors) -> Callable[[BatchTensors], Tensor]:
        """Run it a few times beside the main stream, then once more for the record."""
        inputs = {name: tensor.to(self.bad.device) for name, tensor in example.items()}
        self.warm(inputs)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            loss = self.whole(inputs)
        self.pool = graph.pool()

        def replay(tensors: BatchTensors) -> Tensor:
            for name, tensor in tensors.items():
                inputs[name].copy_(tensor.pin_memory(), non_blocking=True)
            graph.replay()
            return loss

        return replay

    def warm(self, inputs: BatchTensors) -> None:
        """Gradients and the optimizer's memory come to be outside of any recording, and stay where they are."""
        for weight in self.weights:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM):
                self.gradients.one(inputs)
            self.optimizer.found_inf = torch.ones_like(self.bad)  # type: ignore[attr-defined]
            self.optimizer.step()  # changes nothing, since something is not finite
            self.optimizer.found_inf = self.bad  # type: ignore[attr-defined]
        torch.cuda.current_stream().wait_stream(side)

    def whole(self, inputs: BatchTensors) -> Tensor:
        """What `Update` does, decided on the GPU."""
        zero_gradients(self.model)
        loss = self.gradients.one(inputs)
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        self.bad.copy_((~torch.isfinite(loss + norm)).float())
        self.in_a_row.add_(self.bad).mul_(self.bad)
        self.total.add_(self.bad)
        if self.how.clip:
            nn.utils.clip_grads_with_norm_(self.weights, self.how.clip, norm)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(self.average_share)
        return loss
