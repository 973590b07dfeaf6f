"""Where a recording's tensors go, and what has to happen before they are read."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.lens.assembly.pending import Pending
from regard.lens.assembly.sampled_rows import RowNumbers
from regard.lens.assembly.transfers import Transfers
from regard.lens.assembly.watch_options import WatchOptions, on_disk


class Storage:
    """All calls of one watch keep their tensors by it."""

    def __init__(self, options: WatchOptions) -> None:
        self.options = options
        self.transfers = Transfers()
        self.pending = Pending(options, self.store)
        self.numbers = RowNumbers()

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

    def ready(self) -> None:
        """Until the tensors that were kept can be looked at."""
        self.pending.work()
        self.transfers.wait()

    def settle(self) -> None:
        """Until all that was kept can be read."""
        self.pending.settle()
        self.transfers.wait()
