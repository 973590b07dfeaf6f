"""Batches on their way to a GPU: the next one is copied while the one before it is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from regard.training.data.task_batches import TaskBatch


@dataclass(frozen=True)
class Transfer:
    """From the processor's memory to a device. Where `staged` is false, batches stay where they are."""

    device: torch.device
    staged: bool

    @classmethod
    def to(cls, device: torch.device) -> Transfer:
        """A CPU has its batches already; elsewhere there is no memory that a copy could read while others go on."""
        return cls(device, device.type == "cuda")

    def __call__(self, batches: Iterator[TaskBatch]) -> Iterator[TaskBatch]:
        """The same batches on the device, each copied one ahead of its turn."""
        if not self.staged:
            yield from batches
            return
        side = torch.cuda.Stream()
        waiting: list[TaskBatch] = []
        for batch in batches:
            waiting.append(self.copy(batch, side))
            if len(waiting) > 1:
                yield arrived(waiting.pop(0), side)
        for batch in waiting:
            yield arrived(batch, side)

    def copy(self, batch: TaskBatch, side: Any) -> TaskBatch:
        """Beside the main stream; where there is no room, the batch stays, and goes over when it is worked on.

        It is pinned here and not in the threads that lay out batches: no other thread may touch the GPU while this one
        captures a graph.
        """
        try:
            pinned = {name: tensor.pin_memory() for name, tensor in batch.tensors.items()}
            with torch.cuda.stream(side):
                tensors = {name: tensor.to(self.device, non_blocking=True) for name, tensor in pinned.items()}
        except torch.OutOfMemoryError:
            return batch
        return batch._replace(tensors=tensors)


def arrived(batch: TaskBatch, side: Any) -> TaskBatch:
    """Nobody reads it before it is there, and its memory is not given away while somebody does."""
    main = torch.cuda.current_stream()
    main.wait_stream(side)
    for tensor in batch.tensors.values():
        if tensor.is_cuda:
            tensor.record_stream(main)
    return batch
