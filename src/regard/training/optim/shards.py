"""Tensors of which every process may hold a share: plain ones pass through, DTensors are gathered and cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor


def is_sharded(tensor: Tensor) -> TypeGuard[DTensor]:
    """Without importing DTensor, which only those pay for who shard."""
    return hasattr(tensor, "full_tensor")


def local(tensor: Tensor) -> Tensor:
    """What this process holds of it, in the same memory."""
    if not is_sharded(tensor):
        return tensor
    with torch.no_grad():
        return tensor.to_local()


def whole(tensor: Tensor, keep: bool = True) -> Tensor:
    """All of it. Every process must ask; those that do not keep a sharded one get nothing and need no memory for it.

    A sharded one comes to the memory of the host: all of a model may be more than a device has room for.
    """
    if not is_sharded(tensor):
        return tensor
    with torch.no_grad():
        full: Tensor = tensor.full_tensor()
    return full.cpu() if keep else full.new_empty(0)


def sharded_like(full: Tensor, model: Tensor) -> Tensor:
    """A whole tensor, cut as another one is."""
    if not is_sharded(model):
        return full
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(full, model.device_mesh, model.placements, src_data_rank=None)
