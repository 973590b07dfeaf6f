"""Forward and backward of one process, or of many by PyTorch's own engines: DDP, or FSDP2 where weights are sharded.

Both engines leave the mean over the processes in the gradients. Here a loss is a sum over the words of the whole batch,
so each process gives its own times the number of processes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from regard.errors import InputError
from regard.training.data.task_batches import BatchTensors
from regard.training.optim.loss import Objective
from regard.training.optim.workers import Workers
from regard.training.recipe.recipe import Training


class Engine:
    """One process alone. `processes` is how many there are, `committed` whether they are in a step beyond recall."""

    processes = 1
    committed = False

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        self.model, self.objective = model, objective

    def __call__(self, tensors: BatchTensors, weight: Tensor) -> Tensor:
        return self.objective(self.model, tensors, weight)

    def micro_batch(self, last: bool) -> AbstractContextManager[Any]:
        """Around the forward and backward of each micro-batch; `last`: the gradients are complete with it."""
        return nullcontext()

    def backward(self, loss: Tensor) -> None:
        loss.backward()


class LossModule(nn.Module):
    """A model with its objective. It is what an engine wraps: whatever of the model a loss calls, it calls in there."""

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, tensors: BatchTensors, weight: Tensor) -> Tensor:
        return self.objective(self.model, tensors, weight)


class Replicated(Engine):
    """DDP: every process has all weights, and gradients are averaged while the backward pass still goes on.

    Until then a process may start over by itself, such as when memory runs out; afterwards the others have its numbers.
    """

    def __init__(self, model: nn.Module, objective: Objective, workers: Workers) -> None:
        super().__init__(model, objective)
        self.processes, self.last = workers.count, True
        module = LossModule(model, objective)
        # The first step after a resume must round like any other. Without `find_unused_parameters` buckets are laid out
        # anew after it, and three processes add up in another order; with `gradient_as_bucket_view` it multiplies by
        # 1/3 where the others divide by 3. Where none is unused, DDP advises against looking for them: hence one.
        module.unused = nn.Parameter(torch.zeros(1, device=next(model.parameters()).device))
        self.module = DistributedDataParallel(module, find_unused_parameters=True)

    def __call__(self, tensors: BatchTensors, weight: Tensor) -> Tensor:
        loss: Tensor = self.module(tensors, weight)
        return loss

    def micro_batch(self, last: bool) -> AbstractContextManager[Any]:
        self.last = last
        return nullcontext() if last else self.module.no_sync()

    def backward(self, loss: Tensor) -> None:
        self.committed = self.last
        super().backward(loss)
        self.committed = False


class Sharded(Engine):
    """FSDP2: every process has its share of each weight, gradient and moment; a layer is whole while it is in use.

    Gradients are reduced after every micro-batch: to wait with it, each process would have to hold all of them.
    """

    committed = True  # each layer of each pass waits for all processes

    def __init__(self, model: nn.Module, objective: Objective, workers: Workers, device: str) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        super().__init__(model, objective)
        self.processes = workers.count
        self.module = LossModule(model, objective)
        mesh = init_device_mesh(device, (workers.count,))
        for stack in [part for part in model.modules() if isinstance(part, nn.ModuleList)]:
            for layer in stack:
                fully_shard(layer, mesh=mesh)
        fully_shard(self.module, mesh=mesh)  # what is in no layer: tables, which source, target and output may share

    def __call__(self, tensors: BatchTensors, weight: Tensor) -> Tensor:
        loss: Tensor = self.module(tensors, weight)
        return loss


def shards(how: Training, workers: Workers) -> bool:
    """Whether each process holds a share of the weights only."""
    return how.layout == "sharded" and workers.count > 1


def engine_for(model: nn.Module, objective: Objective, how: Training, workers: Workers) -> Engine:
    """The engine that the layout asks for. Sharding replaces the weights of the model, so optimizers come after it."""
    if workers.count == 1:
        return Engine(model, objective)
    if shards(how, workers):
        if how.compile:  # which nobody has tried over layers that gather their weights
            raise InputError("sharded weights are not compiled", do="training.compile = false, or --layout replicated")
        return Sharded(model, objective, workers, "cuda" if dist.get_backend() == "nccl" else "cpu")
    return Replicated(model, objective, workers)
