"""Names of PyTorch that it does not promise to keep: what each is for, and what to do when a new version moves it.

Nothing else in `lens` writes them. A test looks for every name of `NAMES` in the version that is installed, and for
others elsewhere in the package.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree

NAMES = {
    "torch._C._current_graph_task_id": "tells whether a backward pass is running, where gradient checkpointing computes"
    " forwards again; instead: whatever torch.utils.checkpoint asks, or a flag set by a hook on every gradient",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu": "the one kernel on a CPU that gives the lse of every"
    " row; instead: let `lens.sums.knows` answer False, and sums are made block by block, more slowly",
    "torch._C.DisableTorchFunction": "keeps function modes, our own among them, from looking at what a recorder does;"
    " instead: what torch.overrides offers to the same end",
    "torch._C.DisableTorchFunctionSubclass": "calls a function on a mask that is not drawn without coming back to us;"
    " instead: what PyTorch's page on extending it writes in its examples of __torch_function__",
    "torch.Tensor._make_wrapper_subclass": "makes a tensor with a shape and no memory; instead: what"
    " torch.testing's and torch.distributed's own subclasses without storage are made by",
    "torch.utils._pytree.tree_map": "reaches tensors inside lists and dicts of arguments; instead: torch.utils.pytree",
    "torch._dynamo": "imported with the first thing that is compiled, and writes _orig_mod into the names of a compiled"
    " model's parts; instead: the new ones into `COMPILER` and `COMPILED`",
}
COMPILED = "_orig_mod."
COMPILER = "torch._dynamo"

tree_map = _pytree.tree_map


def in_backward() -> bool:
    """Are we inside a backward pass?"""
    return torch._C._current_graph_task_id() != -1


def flash_lse(query: Tensor, key: Tensor, scale: float, *, causal: bool) -> Tensor:
    """The lse (B, H, Q) of the fused attention on a CPU, over the keys as their own values."""
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    _, lse = attention(query, key, key, 0.0, causal, attn_mask=None, scale=scale)
    found: Tensor = lse
    return found


def unwatched() -> AbstractContextManager[Any]:
    """No function mode, and no subclass of tensors, is asked about what happens within."""
    found: AbstractContextManager[Any] = torch._C.DisableTorchFunction()
    return found


def plain_functions() -> AbstractContextManager[Any]:
    """No subclass of tensors is asked about what happens within."""
    found: AbstractContextManager[Any] = torch._C.DisableTorchFunctionSubclass()
    return found


def without_storage(kind: type[Tensor], shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Any:
    """A tensor of this subclass: a shape, and no numbers."""
    return Tensor._make_wrapper_subclass(kind, shape, dtype=dtype, device=device)
