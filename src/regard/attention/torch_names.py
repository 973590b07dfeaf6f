"""Names of PyTorch that it does not promise to keep: what each is for, and what to do when a new version moves it.

Nothing else here and in `lens` writes them. A test looks for every name of `NAMES` in the version that is installed,
and for others elsewhere in the package.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils import _python_dispatch, _pytree

NAMES = {
    "torch._C._current_graph_task_id": "tells whether a backward pass is running, where gradient checkpointing computes"
    " forwards again; instead: whatever torch.utils.checkpoint asks, or a flag set by a hook on every gradient",
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu": "the one kernel on a CPU that gives the lse of every"
    " row; instead: let `cpu_kernel` answer None and `kernel_knows` False, and lse is computed block by block",
    "torch.ops.aten._scaled_dot_product_flash_attention": "SDPA's flash kernel on a GPU, with the lse that SDPA drops;"
    " instead: leave it out of `DEVICE_KERNELS`, and lse is computed by a second pass",
    "torch.ops.aten._scaled_dot_product_efficient_attention": "SDPA's memory-efficient kernel; instead: as above",
    "torch.ops.aten._scaled_dot_product_cudnn_attention": "SDPA's kernel of cuDNN; instead: as above",
    "torch._C._nn.scaled_dot_product_attention": "PyTorch's own function, also where somebody has put another in its"
    " place; instead: what torch.nn.functional takes it from",
    "torch.overrides._get_current_function_mode_stack": "tells whether a function mode would look at a call; instead:"
    " let `only_sdpa` answer False, and lse is computed by a second pass",
    "torch.overrides._pop_mode_temporarily": "spares what we calculate ourselves the way through our own mode; instead:"
    " let `past_own_mode` do nothing, and it takes longer",
    "torch._fused_sdp_choice": "tells which kernel scaled_dot_product_attention takes; instead: as above",
    "torch._C.DisableTorchFunction": "keeps function modes, our own among them, from looking at what a recorder does;"
    " instead: what torch.overrides offers to the same end",
    "torch._C.DisableTorchFunctionSubclass": "calls a function on a mask that is not drawn without coming back to us;"
    " instead: what PyTorch's page on extending it writes in its examples of __torch_function__",
    "torch.Tensor._make_wrapper_subclass": "makes a tensor with a shape and no memory; instead: what"
    " torch.testing's and torch.distributed's own subclasses without storage are made by",
    "torch.utils._pytree.tree_map": "reaches tensors inside lists and dicts of arguments; instead: torch.utils.pytree",
    "torch.utils._pytree.tree_leaves": "the tensors that an operation gives, however they lie; instead:"
    " torch.utils.pytree",
    "torch.utils._python_dispatch.TorchDispatchMode": "sees every operation, to count bytes that are alive on a"
    " CPU; instead: what PyTorch's page on extending it names for modes",
    "torch._dynamo": "imported with the first thing that is compiled, and writes _orig_mod into the names of a compiled"
    " model's parts; instead: the new ones into `COMPILER` and `COMPILED`",
}
SDPA = torch._C._nn.scaled_dot_product_attention
SDPATensors = tuple[Tensor, Tensor, Tensor]  # query, key and value of rank 4
COMPILED = "_orig_mod."
COMPILER = "torch._dynamo"

tree_map = _pytree.tree_map
tree_leaves = _pytree.tree_leaves
TorchDispatchMode = _python_dispatch.TorchDispatchMode


def in_backward() -> bool:
    """Are we inside a backward pass?"""
    return torch._C._current_graph_task_id() != -1


def only_sdpa(device: str) -> bool:
    """Would a call of scaled_dot_product_attention come to PyTorch's own as it is?

    Somebody may have put a function of their own in its place, a function mode may look on or change it, and autocast
    rounds what it is given.
    """
    modes = torch.overrides._get_current_function_mode_stack()
    plain = F.scaled_dot_product_attention is SDPA and all(getattr(mode, "passes_on", False) for mode in modes)
    return plain and not torch.is_autocast_enabled(device)


def past_own_mode() -> AbstractContextManager[Any]:
    """Without the innermost function mode, if it is one that passes all on: every property of a tensor comes by it."""
    modes = torch.overrides._get_current_function_mode_stack()
    if modes and getattr(modes[-1], "passes_on", False):
        context: AbstractContextManager[Any] = torch.overrides._pop_mode_temporarily()
        return context
    return nullcontext()


def sdpa_choice(tensors: SDPATensors, mask: Tensor | None, causal: bool, scale: float, *, grouped: bool = False) -> str:
    """By which kernel would scaled_dot_product_attention compute this? As `torch.nn.attention.SDPBackend` names it."""
    choice = torch._fused_sdp_choice(*tensors, mask, 0.0, causal, scale=scale, enable_gqa=grouped)
    return torch.nn.attention.SDPBackend(choice).name


def flash_with_lse(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """The output of that kernel, and the lse (B, H, Q) of its rows."""
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    output, lse = attention(query, key, value, 0.0, causal, attn_mask=mask, scale=scale)
    return output, lse


def gpu_flash(tensors: SDPATensors, mask: Tensor | None, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    """SDPA's flash kernel on a GPU, as SDPA calls it: dims filled up to a multiple of 8. The lse is (B, H, Q)."""
    width = tensors[0].shape[-1]
    query, key, value = (F.pad(part, (0, -width % 8)) if width % 8 else part for part in tensors)
    output, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, causal, scale=scale)
    return output[..., :width], lse


def gpu_efficient(tensors: SDPATensors, mask: Tensor | None, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    """SDPA's memory-efficient kernel, its mask laid out as SDPA does. The lse is (B, H, Q filled up)."""
    query, key, _ = tensors
    if mask is not None:
        keys = mask.shape[-1]
        aligned = keys == 1 or all(stride % 8 == 0 for stride in mask.stride()[:-1])
        mask = mask if aligned and mask.stride(-1) == 1 else F.pad(mask, (0, -keys % 8))[..., :keys]
        mask = mask.expand(*query.shape[:-1], key.shape[-2])
    output, lse, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(
        *tensors, mask, True, 0.0, causal, scale=scale
    )
    return output, lse


def gpu_cudnn(tensors: SDPATensors, mask: Tensor | None, causal: bool, scale: float) -> tuple[Tensor, Tensor]:
    """SDPA's kernel of cuDNN. The lse is (B, H, Q, 1)."""
    output, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(*tensors, mask, True, 0.0, causal, scale=scale)
    return output, lse


DEVICE_KERNELS = {
    "FLASH_ATTENTION": gpu_flash, "EFFICIENT_ATTENTION": gpu_efficient, "CUDNN_ATTENTION": gpu_cudnn
}  # fmt: skip


def unwatched() -> AbstractContextManager[Any]:
    """No function mode, and no subclass of tensors, is asked about what happens within."""
    context: AbstractContextManager[Any] = torch._C.DisableTorchFunction()
    return context


def plain_functions() -> AbstractContextManager[Any]:
    """No subclass of tensors is asked about what happens within."""
    context: AbstractContextManager[Any] = torch._C.DisableTorchFunctionSubclass()
    return context


def without_storage(kind: type[Tensor], shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Any:
    """A tensor of this subclass: a shape, and no numbers."""
    return Tensor._make_wrapper_subclass(kind, shape, dtype=dtype, device=device)
