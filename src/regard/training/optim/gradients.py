"""From a batch to gradients, in smaller parts when memory runs out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.training.data.task_batches import BatchTensors, TaskBatch, part_of
from regard.training.optim.foreach import zero
from regard.training.optim.loss import Objective


def zero_gradients(model: nn.Module) -> None:
    """Gradients to zero, in place where there are any: a recording writes to the same memory every time."""
    grads = [weight.grad for weight in model.parameters() if weight.grad is not None]
    if grads:
        zero(grads)


class Gradients:
    """Forward and backward, in `parts` micro-batches whose gradients add up to those of the whole.

    A call leaves the gradients of a batch's mean loss in the weights and gives that loss. `words` is what the sum is
    divided by: those of the whole batch, even where this is a part of it.
    """

    def __init__(self, model: nn.Module, objective: Objective, device: torch.device, half: bool) -> None:
        self.model, self.objective, self.device, self.half = model, objective, device, half
        self.parts = 1
        self.words = torch.ones((), device=device)  # what the sum over words is multiplied by
        self.weight = torch.zeros((), device=device)  # how much two passes must agree

    def __call__(self, batch: TaskBatch, words: int) -> Tensor:
        while True:
            try:
                return self.attempt(batch, words)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not out_of_memory(error):
                    raise
                self.split(batch, error)

    def attempt(self, batch: TaskBatch, words: int) -> Tensor:
        zero_gradients(self.model)
        self.words.fill_(1.0 / max(words, 1))
        total = torch.zeros((), device=self.device)
        for number in range(self.parts):
            tensors = {
                name: tensor.to(self.device) for name, tensor in part_of(batch, number, self.parts).tensors.items()
            }
            if len(tensors["labels"]):
                total += self.one(tensors)
        return total

    def one(self, tensors: BatchTensors) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            loss = self.objective(self.model, tensors, self.weight) * self.words
        loss.backward()
        return loss.detach()

    def split(self, batch: TaskBatch, error: BaseException) -> None:
        """Twice as many parts, as long as there are rows to part."""
        if self.parts >= len(batch.tensors["labels"]):
            raise InputError(
                "one row alone does not fit in memory",
                found=str(error).split("\n")[0],
                do="choose a smaller model, or leave out long texts: data.longest",
            ) from error
        self.parts *= 2
        for weight in self.model.parameters():
            weight.grad = None
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def out_of_memory(error: BaseException) -> bool:
    """A CPU's allocator has no exception of its own."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return "not enough memory" in str(error) or "out of memory" in str(error).lower()
