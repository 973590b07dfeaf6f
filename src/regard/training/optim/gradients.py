"""From a batch to gradients, in smaller parts when memory runs out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import InputError, RegardError
from regard.training.data.task_batches import BatchTensors, TaskBatch, part_of, rows_of
from regard.training.optim.engines import Engine
from regard.training.optim.foreach import zero
from regard.training.optim.loss import Objective
from regard.training.optim.shards import local


class OutOfMemory(RegardError):
    """Memory ran out in a step that the other processes cannot take back; the next start does with smaller parts."""

    def __init__(self, parts: int, error: BaseException) -> None:
        self.parts = parts
        again = f"give the same command again: it goes on from the last checkpoint, with batches in {parts} parts"
        super().__init__(
            "memory ran out while the other processes waited",
            found=str(error).split("\n")[0],
            do=f"{again}; torchrun --max-restarts 3 does so by itself",
        )


def zero_gradients(model: nn.Module) -> None:
    """Gradients to zero, in place where there are any: a recording writes to the same memory every time."""
    grads = [weight.grad for weight in model.parameters() if weight.grad is not None]
    if grads:
        zero([local(gradient) for gradient in grads])


class Gradients:
    """Forward and backward, in `parts` micro-batches whose gradients add up to those of the whole.

    A call leaves the gradients of a batch's mean loss in the weights and gives that loss. `words` is what the sum is
    divided by: those of the whole batch, even where this is a part of it. Among several processes the loss is that of
    its own rows times their number, so that the mean over the processes is the loss of the batch.
    """

    def __init__(
        self, model: nn.Module, objective: Objective, device: torch.device, half: bool, engine: Engine | None = None
    ) -> None:
        self.model, self.device, self.half = model, device, half
        self.engine = Engine(model, objective) if engine is None else engine
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
                if self.engine.committed:
                    raise OutOfMemory(2 * self.parts, error) from error
                self.split(batch, error)

    def attempt(self, batch: TaskBatch, words: int) -> Tensor:
        zero_gradients(self.model)
        self.words.fill_(self.engine.processes / max(words, 1))
        total = torch.zeros((), device=self.device)
        rows = part_of if self.engine.processes == 1 else rows_of
        for number in range(self.parts):
            tensors = {name: tensor.to(self.device) for name, tensor in rows(batch, number, self.parts).tensors.items()}
            if len(tensors["labels"]):
                with self.engine.micro_batch(last=number == self.parts - 1):
                    total += self.one(tensors)
        return total

    def one(self, tensors: BatchTensors) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            loss = self.engine(tensors, self.weight) * self.words
        self.engine.backward(loss)
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
