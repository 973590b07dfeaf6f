"""What to keep of each attention call, and where: which sites and heads, in which dtype, on which device or disk.

From a GPU to the CPU it goes while the model runs on: into pinned memory, on a stream of its own, waited for when read.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import InputError

PINNED = 1 << 32  # bytes of one recording that may be pinned, which no other program can then use; the rest waits


@dataclass(frozen=True)
class WatchOptions:
    """As `watch` was asked."""

    sites: tuple[str, ...] | None = None  # names, or patterns such as "decoder.*.cross"; None: all
    heads: tuple[int, ...] | None = None  # the model's numbers; None: all
    dtype: torch.dtype | None = None  # of queries and keys; None: as the model has them
    device: str | torch.device = "cpu"
    values: bool = True  # keep the norms of the values through W_O too
    spill: Path | None = None  # a folder on whose disk the tensors lie instead of in memory
    tokenizer: Any = None  # ours, Hugging Face's, or a function from an id to a string

    def wants(self, site: str) -> bool:
        return self.sites is None or any(fnmatchcase(site, pattern) for pattern in self.sites)

    def heads_of(self, site: str, heads: int) -> tuple[int, ...]:
        """The numbers of the heads to keep."""
        if self.heads is None:
            return tuple(range(heads))
        wrong = [head for head in self.heads if not 0 <= head < heads]
        if wrong:
            raise InputError(f"{site} has no such head", found=f"heads={wrong}", do=f"choose among 0 to {heads - 1}")
        return self.heads


def on_disk(tensor: Tensor, folder: Path) -> Tensor:
    """The same numbers in a file that the system reads as they are needed; it vanishes with the last who use it."""
    if not tensor.numel():
        return tensor.contiguous().clone()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
        path = Path(file.name)
    mapped = torch.from_file(str(path), shared=True, size=tensor.numel(), dtype=tensor.dtype).view(tensor.shape)
    mapped.copy_(tensor)
    with suppress(OSError):  # some systems do not let go of a name in use
        path.unlink()
    return mapped


class Storage:
    """All calls of one watch keep their tensors by it."""

    def __init__(self, options: WatchOptions) -> None:
        self.options = options
        self.transfers = Transfers()

    def store(self, tensor: Tensor, *, ours: bool = False) -> Tensor:
        """A copy of its own, where it is wanted: what the model has may change, or hold on to more than is needed.

        What is `ours` was made for the recording, and is kept as it is where it lies right.
        """
        tensor = tensor.detach()
        if self.options.spill is not None:
            return on_disk(tensor.cpu(), self.options.spill)
        device = torch.device(self.options.device)
        if device.type == "cpu" and tensor.device.type != "cpu":
            return self.transfers.to_cpu(tensor, ours=ours)
        return tensor.to(device, copy=not ours, memory_format=torch.contiguous_format)


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
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)
    except RuntimeError:
        return None
