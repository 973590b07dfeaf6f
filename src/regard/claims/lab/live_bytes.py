"""How much memory a computation holds at most: counted tensor by tensor on a CPU, told by the allocator of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from regard.attention.torch_names import TorchDispatchMode, tree_leaves


class LiveBytes(TorchDispatchMode):
    """While it is entered, `most` is the largest sum of bytes of all tensors that operations gave and somebody holds.

    What a single operation needs within itself is not seen. Only of the thread that enters it.
    """

    def __init__(self, outside: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.most = 0
        self.outside = {StorageWeakRef(one.untyped_storage()).cdata for one in outside}
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.alive = {place: one for place, one in self.alive.items() if not one[0].expired()}
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                storage = tensor.untyped_storage()
                reference = StorageWeakRef(storage)
                if reference.cdata not in self.outside:
                    self.alive[reference.cdata] = (reference, storage.nbytes())
        self.most = max(self.most, sum(size for _, size in self.alive.values()))
        return result


def peak_bytes(run: Callable[[], object], inputs: Sequence[Tensor]) -> int:
    """At most, beyond the inputs."""
    device = inputs[0].device
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        run()
        torch.cuda.synchronize(device)
        most: int = torch.cuda.max_memory_allocated(device)
        return most - before
    live = LiveBytes(inputs)
    with live:
        run()
    return live.most
