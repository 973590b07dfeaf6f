"""From a GPU to the CPU while the model runs on: into pinned memory, on a stream of its own, waited for when read."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

PINNED = 1 << 33  # bytes of one recording that may be pinned; the rest is copied at once


class Transfers:
    """The copies that are on their way."""

    def __init__(self) -> None:
        self.streams: dict[torch.device, Any] = {}
        self.pinned = 0
        self.waiting: dict[torch.device, Any] = {}  # what happens after the last copy from each device

    def to_cpu(self, tensor: Tensor, *, ours: bool = False) -> Tensor:
        """A copy of its own on the CPU, which is whole only after `wait`; what is not `ours` the model may change."""
        size, module = tensor.numel() * tensor.element_size(), device_module(tensor.device)
        buffer = None if module is None or self.pinned + size > PINNED else pinned_like(tensor)
        if buffer is None or module is None:
            return tensor.to("cpu", copy=True, memory_format=torch.contiguous_format)
        self.pinned += size
        tensor = tensor.contiguous() if ours else tensor.clone(memory_format=torch.contiguous_format)
        if tensor.device not in self.streams:
            self.streams[tensor.device] = module.Stream(tensor.device)
        side = self.streams[tensor.device]
        side.wait_stream(module.current_stream(tensor.device))
        with module.stream(side):
            begin_copy(buffer, tensor)
        tensor.record_stream(side)
        self.waiting[tensor.device] = side
        return buffer

    def wait(self) -> None:
        """Until every copy is there."""
        for stream in self.waiting.values():
            stream.synchronize()
        self.waiting.clear()


def begin_copy(buffer: Tensor, tensor: Tensor) -> None:
    """It goes on while the CPU does other things."""
    buffer.copy_(tensor, non_blocking=True)


def device_module(device: torch.device) -> Any:
    """PyTorch's module for a device that has streams; None where there is none."""
    if device.type == "cpu":
        return None
    module = torch.get_device_module(device)
    return module if hasattr(module, "Stream") and hasattr(module, "current_stream") else None


def pinned_like(tensor: Tensor) -> Tensor | None:
    """Memory that the device can write while the CPU does other things; None where there is none left."""
    try:
        return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    except RuntimeError:
        return None
