"""What a caller gave, checked and made ready: every complaint about the arguments of attention is written here."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, TypedDict

import torch
from torch import Tensor

from regard.attention.masks import Sight, Window
from regard.attention.scores import ScoreRule, Scores
from regard.errors import InputError, KindError, ShapeError, UnknownNameError

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
LARGEST = sys.float_info.max
FAR = 1 << 31  # no text is so long that a position lies beyond


class ScoreOptions(TypedDict, total=False):
    """The options that decide a score: the same ones, with the same meaning, wherever attention is asked about."""

    mask: Tensor | None
    causal: bool
    window: Window | None
    offset: int | None
    scale: float | None
    softcap: float | None
    bias: Tensor | None
    sinks: Tensor | None


def read_scores(query: Tensor, key: Tensor, options: ScoreOptions) -> Scores:
    """The scores that these arguments describe, or an error that says what does not fit."""
    for option in options:
        if option not in ScoreOptions.__annotations__:
            raise UnknownNameError("option", option, ScoreOptions.__annotations__)
    for name, tensor in (("query", query), ("key", key)):
        check_tensor(name, tensor, query)
    check_pair(query, key)
    shown, terms = None, []
    mask, bias = options.get("mask"), options.get("bias")
    if mask is not None:
        check_mask("mask", mask, query, key)
        if mask.dtype == torch.bool:
            shown = group_term(mask, query, key)
        else:
            terms.append(group_term(mask, query, key))
    if bias is not None:
        check_mask("bias", bias, query, key, additive=True)
        terms.append(group_term(bias, query, key))
    sight = read_sight(query, key, options, shown)
    rule = ScoreRule(read_scale(options.get("scale"), query), read_softcap(options.get("softcap")), sight)
    return Scores(rule, group_heads(query, key), key, tuple(terms), read_sinks(options.get("sinks"), query, key))


def check_value(value: Tensor, query: Tensor, key: Tensor) -> None:
    check_tensor("value", value, query)
    if value.shape[:-1] != key.shape[:-1]:
        raise ShapeError(
            "key and value must agree in everything but their last dim",
            found=f"key {show(key)}, value {show(value)}",
            do="give one value for each key, (batch..., heads, keys, value dim)",
        )


def check_tensor(name: str, tensor: Any, query: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise KindError(
            f"{name} must be a torch tensor",
            found=f"{type(tensor).__module__}.{type(tensor).__qualname__}",
            do=f"convert it first: torch.as_tensor({name}, dtype=torch.float32)",
        )
    if tensor.dtype not in FLOATS or tensor.layout != torch.strided:
        raise KindError(
            f"{name} must be a dense tensor of float64, float32, float16 or bfloat16 numbers",
            found=f"{name} {show(tensor)} of {tensor.dtype}, {tensor.layout}",
            do=f"convert it first: {name}.float(), {name}.to_dense()",
        )
    if tensor.ndim < 3:
        raise ShapeError(
            f"{name} must be (batch..., heads, length, dim)",
            found=f"{name} {show(tensor)}",
            do=f"for one head add its dim: {name}.unsqueeze(-3)",
        )
    check_device(name, tensor, query)


def check_device(name: str, tensor: Tensor, query: Tensor) -> None:
    if tensor.device != query.device:
        raise InputError(
            "all tensors must be on one device",
            found=f"query on {query.device}, {name} on {tensor.device}",
            do=f"move it: {name}.to(query.device)",
        )


def check_pair(query: Tensor, key: Tensor) -> None:
    if query.shape[-1] != key.shape[-1] or query.shape[-1] == 0:
        raise ShapeError(
            "query and key must have the same dim, at least 1",
            found=both(query, key),
            do="project both to one size: a score is their dot product",
        )
    if query.shape[:-3] != key.shape[:-3]:
        raise ShapeError(
            "query and key must have the same batch dims",
            found=both(query, key),
            do="expand the smaller one, for example key.expand(...), which copies nothing",
        )
    heads, served = query.shape[-3], key.shape[-3]
    if served == 0 or heads % served or heads == 0:
        raise ShapeError(
            f"{heads} query heads cannot be shared out among {served} key heads",
            found=both(query, key),
            do="use as many key heads as query heads, or a number that divides them (grouped-query attention)",
        )


def both(query: Tensor, key: Tensor) -> str:
    return f"query {show(query)}, key {show(key)}"


def check_mask(name: str, mask: Any, query: Tensor, key: Tensor, *, additive: bool = False) -> None:
    """A mask or bias must be boolean (mask only) or real, and broadcast to (batch..., heads, queries, keys)."""
    dense = isinstance(mask, Tensor) and mask.layout == torch.strided
    if not dense or not (mask.dtype in FLOATS or (mask.dtype == torch.bool and not additive)):
        kinds = "real numbers to add" if additive else "booleans (True = may look) or real numbers to add"
        given = f"{show(mask)} of {mask.dtype}" if isinstance(mask, Tensor) else type(mask).__qualname__
        raise KindError(f"{name} must be a tensor of {kinds}", found=given, do=advice_on_kind(name, additive))
    whole = (*query.shape[:-1], key.shape[-2])
    if not broadcasts(mask.shape, whole):
        raise ShapeError(
            f"{name} does not broadcast to (batch..., heads, queries, keys)",
            found=f"{name} {show(mask)}, wanted sizes of {tuple(whole)} or 1, aligned right",
            do="padding of shape (batch, keys) is written mask[:, None, None, :]",
        )
    check_device(name, mask, query)


def broadcasts(shape: Sequence[int], goal: Sequence[int]) -> bool:
    """Does one shape stretch to the other as NumPy stretches it, aligned right, without stretching the other?"""
    pairs = zip(reversed(shape), reversed(goal), strict=False)
    return len(shape) <= len(goal) and all(size in (1, wanted) for size, wanted in pairs)


def advice_on_kind(name: str, additive: bool) -> str:
    if additive:
        return "to hide cells use mask; a bias is added to the scores: bias.float()"
    return f"if 1 means may look: {name}.bool(); if it is to be added to the scores: {name}.float()"


def read_sight(query: Tensor, key: Tensor, options: ScoreOptions, mask: Tensor | None) -> Sight:
    queries, keys = query.shape[-2], key.shape[-2]
    left, right = read_window(options.get("window"))
    causal = options.get("causal", False)
    if not isinstance(causal, bool):
        raise KindError("causal must be True or False", found=f"{causal!r}", do="a mask goes into `mask`")
    if causal:
        right = 0  # a window to the right says nothing more than causal allows
    return Sight.over(queries, keys, read_offset(options.get("offset"), keys - queries), (left, right), mask)


def read_offset(offset: Any, default: int) -> int:
    if offset is None:
        return default
    advice = "query i stands at position i + offset among the keys; None puts the last query on the last key"
    if not whole_number(offset):
        raise KindError("offset must be one whole number", found=f"{offset!r}", do=advice)
    if abs(offset) > FAR:
        raise InputError(f"offset must lie within {FAR:,}", found=f"{offset!r}", do=advice)
    return int(offset)


def read_window(window: Any) -> Window:
    if window is None:
        return None, None
    advice = "window=(3, 0) sees the key at the query's own position and three before it; None for no bound on a side"
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise KindError("window must be a pair (left, right)", found=f"{window!r}", do=advice)
    for size in window:
        if size is not None and (not whole_number(size) or size < 0):
            raise InputError(
                "each side of the window must be a whole number, 0 or more, or None", found=f"{window!r}", do=advice
            )
    left, right = window
    return left, right


def whole_number(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def read_scale(scale: Any, query: Tensor) -> float:
    if scale is None:
        return 1.0 / math.sqrt(query.shape[-1])
    return real("scale", scale, "leave it out for 1 / sqrt(dim)")


def read_softcap(softcap: Any) -> float | None:
    if softcap is None:
        return None
    number = real("softcap", softcap, "leave it out for no cap")
    if number <= 0:
        raise InputError("softcap must be greater than 0", found=f"{number}", do="leave it out for no cap")
    return number


def read_dropout(dropout: Any) -> float:
    rate = real("dropout", dropout, "a share of the weights, such as 0.1; 0 when not training")
    if not 0 <= rate < 1:
        raise InputError("dropout must be at least 0 and less than 1", found=f"{rate}", do="0.1 drops a tenth")
    return rate


def real(name: str, number: Any, do: str) -> float:
    finite = isinstance(number, (int, float)) and not isinstance(number, bool) and abs(number) <= LARGEST
    if not finite:
        raise KindError(f"{name} must be one finite number", found=f"{number!r}", do=do)
    return float(number)


def read_sinks(sinks: Any, query: Tensor, key: Tensor) -> Tensor | None:
    """One logit a head, as (key heads, group)."""
    if sinks is None:
        return None
    heads = query.shape[-3]
    if not isinstance(sinks, Tensor) or sinks.dtype not in FLOATS or sinks.shape != (heads,):
        given = f"{show(sinks)} of {sinks.dtype}" if isinstance(sinks, Tensor) else type(sinks).__qualname__
        raise ShapeError(
            f"sinks must be one real logit for each of the {heads} query heads",
            found=given,
            do=f"give a float tensor of shape ({heads},)",
        )
    check_device("sinks", sinks, query)
    return torch.unflatten(sinks, 0, (key.shape[-3], -1))


def group_heads(query_BHQD: Tensor, key: Tensor) -> Tensor:
    """(B..., H, Q, D) -> (B..., J, G, Q, D): each key head with the query heads it serves, as a view."""
    served = key.shape[-3]
    return torch.unflatten(query_BHQD, -3, (served, query_BHQD.shape[-3] // served))


def group_term(term: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """A mask or bias of any rank, its head dim split like the query's, sizes 1 kept where it broadcasts."""
    for dim, stride in enumerate(term.stride()):
        if stride == 0 and term.shape[dim] > 1 and not term.requires_grad:  # one row expanded over all is one row
            term = term.narrow(dim, 0, 1)
    term = term.reshape((1,) * (query.ndim - term.ndim) + term.shape)
    served, heads = key.shape[-3], query.shape[-3]
    return torch.unflatten(term, -3, (1, 1) if term.shape[-3] == 1 else (served, heads // served))


def show(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))
