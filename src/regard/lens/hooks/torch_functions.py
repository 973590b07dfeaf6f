"""PyTorch's own attention functions, caught on their way: for plain models, and for those not on the interface."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard.attention import attend
from regard.lens.hooks.attention_call import Call, same_batch, with_mask
from regard.lens.hooks.leading import busy, calling, computing, lead

MULTIHEAD = inspect.signature(F.multi_head_attention_forward)
SDPA = F.scaled_dot_product_attention


class Mode(TorchFunctionMode):
    """Catches them while a held model is being called; all else passes."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (SDPA, F.multi_head_attention_forward) and calling() and not computing():
            return caught(*args, **kwargs)[0] if func is SDPA else multihead(*args, **kwargs)
        return func(*args, **kwargs)


def caught(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Tensor, Call]:
    """scaled_dot_product_attention, computed by itself, and the call as we understood it."""
    q, k, v = four(query), four(key), four(value)
    call = Call(q, same_batch(q, k), same_batch(q, v), {"scale": scale}, "sdpa", dropout_p)
    mask = None if attn_mask is None else four_mask(attn_mask, query)
    call = with_mask(call, mask, is_causal)

    def native(*_: Tensor, **options: Any) -> Tensor:
        return four(SDPA(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa))

    output, call = lead(replace(call, compute=native), None)
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
    calls: list[Call] = []

    def instead(*inner: Any, **options: Any) -> Tensor:
        output, call = caught(*inner, **options)
        calls.append(call)
        return output

    with busy(), exchanged(instead):  # busy: the modes of other holds let it pass
        output, _ = F.multi_head_attention_forward(*given.args, **given.kwargs)
    if not weighed:
        return output, None
    call = calls[-1]
    _, steps = attend(call.query, call.key, call.value, **call.options, see="steps")
    weights = steps.weights.mean(1) if given.arguments["average_attn_weights"] else steps.weights
    return output, weights if batched else weights.squeeze(0)


@contextmanager
def exchanged(instead: Callable[..., Tensor]) -> Iterator[None]:
    """Within multi_head_attention_forward no mode looks: there the name itself is lent to us."""
    mine, within = threading.get_ident(), False

    def lent(*args: Any, **kwargs: Any) -> Tensor:
        nonlocal within
        if within or threading.get_ident() != mine:  # within: what computes this attention, once a hook changed it
            return SDPA(*args, **kwargs)
        within = True
        try:
            return instead(*args, **kwargs)
        finally:
            within = False

    F.scaled_dot_product_attention = lent
    try:
        yield
    finally:
        F.scaled_dot_product_attention = SDPA
