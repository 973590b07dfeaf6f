"""The adapter for PyTorch's attention functions: for plain models, and for those not on Hugging Face's interface."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.attention import attend
from regard.attention.torch_names import SDPA
from regard.errors import InputError
from regard.lens.hooks.attention_call import AttentionCall, output_projection, same_batch
from regard.lens.hooks.lazy_mask import with_mask
from regard.lens.hooks.session import (
    attention_around,
    computing,
    dispatch,
    innermost_module,
    is_calling,
    is_computing,
)

GENUINE: Any = F.multi_head_attention_forward
MULTIHEAD = inspect.signature(GENUINE)
SDPAFunction = Callable[..., Tensor]


class AttentionMode(TorchFunctionMode):
    """Catches them while a model with a session is being called in this thread; all else passes."""

    passes_on = True  # it changes nothing that `attend` computes

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (SDPA, F.multi_head_attention_forward) and is_calling() and not is_computing():
            return through_sessions(func, *args, **kwargs)[0] if func is SDPA else multihead(*args, **kwargs)
        return func(*args, **kwargs)


def through_sessions(
    function: SDPAFunction,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    projection: Tensor | None = None,
) -> tuple[Tensor, AttentionCall]:
    """scaled_dot_product_attention, computed by `function` itself, and the call as we understood it.

    `projection` is W_O where the caller knows it; else it is looked for in the module that is being called.
    """
    q, k, v = four(query), four(key), four(value)
    if projection is None:
        module = innermost_module()
        projection = output_projection(module, q.shape[1] * v.shape[-1], attention_around(module))

    def native() -> Tensor:
        return four(function(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa))

    call = AttentionCall(
        q, same_batch(q, k), same_batch(q, v), {"scale": scale}, "sdpa", dropout_p, native=native,
        projection=projection,
    )  # fmt: skip
    mask = None if attn_mask is None else four_mask(attn_mask, query)
    output, call = dispatch(with_mask(call, mask, causal=is_causal), None)
    return output.reshape(*query.shape[:-1], value.shape[-1]), call


def four(tensor: Tensor) -> Tensor:
    """(batch, heads, length, dim), whatever leads: without heads there is one, more dims are one batch."""
    if tensor.ndim < 4:
        return tensor.reshape((1,) * (3 - tensor.ndim) + tensor.shape).unsqueeze(1)
    return tensor.flatten(0, -4)


def four_mask(mask: Tensor, query: Tensor) -> Tensor:
    """A mask that broadcasts to the query's dims, in rank 4 likewise."""
    if query.ndim == 4 or mask.ndim <= 2:
        return mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    if query.ndim == 3:
        return mask.unsqueeze(1)
    mask = mask.reshape((1,) * (query.ndim - mask.ndim) + mask.shape)
    return mask.expand(*query.shape[:-3], *mask.shape[-3:]).flatten(0, -4)


def multihead(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
    """nn.MultiheadAttention, through SDPA even where it would have kept its weights; then these are ours."""
    given = MULTIHEAD.bind(*args, **kwargs)
    given.apply_defaults()
    weighed, batched = given.arguments["need_weights"], given.arguments["query"].ndim == 3
    given.arguments["need_weights"] = False
    calls: list[AttentionCall] = []
    matrix = given.arguments["out_proj_weight"].detach()

    def instead(*inner: Any, **options: Any) -> Tensor:
        # Looked up only now: somebody may have put a function of their own there, which is to compute it.
        output, call = through_sessions(F.scaled_dot_product_attention, *inner, **options, projection=matrix)
        calls.append(call)
        return output

    with computing():  # the modes of other sessions let it pass
        output, _ = calling_instead(instead)(*given.args, **given.kwargs)
    if not weighed:
        return output, None
    call = calls[-1]
    _, steps = attend(call.query, call.key, call.value, **call.options, see="steps")
    weights = steps.weights.mean(1) if given.arguments["average_attn_weights"] else steps.weights
    return output, weights if batched else weights.squeeze(0)


def calling_instead(function: SDPAFunction) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """multi_head_attention_forward with another SDPA in it. Inside of it no mode looks, and the name that it calls is
    everyone's, other threads' too: so it is this copy that calls another one.
    """
    original = GENUINE
    if original.__globals__ is not vars(F):
        raise InputError(
            "nn.MultiheadAttention cannot be watched: its function was exchanged before",
            found=f"{original.__module__}.{original.__qualname__} in place of multi_head_attention_forward",
            do="watch a model once before exchanging it, or exchange scaled_dot_product_attention instead",
        )
    names = {**original.__globals__, "scaled_dot_product_attention": function, "has_torch_function": lambda _: False}
    return FunctionType(original.__code__, names, argdefs=original.__defaults__, closure=original.__closure__)
