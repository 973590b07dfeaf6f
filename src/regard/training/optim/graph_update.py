"""Updates that a GPU replays: each shape's whole update is recorded once, as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from regard.training.data.task_batches import BatchTensors, TaskBatch
from regard.training.optim.gradients import Gradients, zero_gradients
from regard.training.optim.optimizer import set_rates
from regard.training.optim.schedule import consistency_at
from regard.training.optim.updates import SkippedSteps, Update
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training

WARM = 2  # runs before a recording, in which libraries set themselves up


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
        self.warm_up: Callable[[], AbstractContextManager[None]] = nullcontext  # stands around each recording

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
                with self.warm_up():
                    self.recordings[shape] = self.record(batch.tensors)
        except torch.OutOfMemoryError as error:
            self.recordings.clear()
            self.gradients.split(batch, error)
        if self.gradients.parts > 1:
            self.optimizer.found_inf = None  # type: ignore[attr-defined]  # what held for the last whole batch
            return super().__call__(batch, step)
        set_rates(self.optimizer, self.schedule_position(step), self.how)
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
                inputs[name].copy_(tensor if tensor.is_cuda else tensor.pin_memory(), non_blocking=True)
            graph.replay()
            return loss

        return replay

    def warm(self, inputs: BatchTensors) -> None:
        """Gradients and the optimizer's memory come to be outside of any recording, and stay where they are.

        No random number of the run is drawn here: whoever resumes it records again, elsewhere.
        """
        for weight in self.weights:
            weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        device = self.bad.device
        with torch.cuda.stream(side), torch.random.fork_rng([device] if device.type == "cuda" else []):
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
            self.average.update(self.average_share * (1 - self.bad))  # a skipped step leaves it where it was
        return loss
