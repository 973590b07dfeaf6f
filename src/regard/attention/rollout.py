"""Attention rollout of one token through a stack of layers, streamed: no layer's map is ever held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions, check_tensor, whole_number
from regard.attention.received import received
from regard.errors import InputError, KindError


class Layer(ScoreOptions, total=False):
    """What one layer's attention was made from: the arguments of `received`."""

    query: Required[Tensor]
    key: Required[Tensor]
    lse: Tensor | None


@torch.no_grad()
def rollout(layers: Sequence[Layer], token: int, *, residual: float = 0.5) -> Tensor:
    """How much of each input token reaches `token` at the top, (batch..., length), first layer first in `layers`.

    Each layer passes on `residual` of what it got and mixes the rest by the mean weights of its heads, as in Abnar and
    Zuidema (2020); read from the last layer down, that is one weighted `received` a layer.
    """
    check_layers(layers)
    if isinstance(residual, bool) or not isinstance(residual, (int, float)) or not 0 <= residual <= 1:
        raise InputError("residual must be between 0 and 1", found=f"{residual!r}", do="0.5 is the usual share")
    share = start_at(token, layers[-1]["query"])
    for layer in reversed(layers):
        check_square(layer, share)
        mixed = received(**layer, weigh=share[..., None, :]).mean(-2)
        share = residual * share + (1.0 - residual) * mixed
    return share


def check_layers(layers: Any) -> None:
    """Each must be the arguments of `received`, the same length throughout."""
    each = layers if isinstance(layers, (list, tuple)) else []
    if not each or not all(isinstance(layer, Mapping) and {"query", "key"} <= layer.keys() for layer in each):
        raise KindError(
            "rollout needs a list of layers, each with its query and key",
            found=f"{type(layers).__qualname__}" + (f" of {type(each[0]).__qualname__}" if each else ""),
            do='[{"query": q, "key": k, "causal": True}, ...], first layer first',
        )
    for layer in each:
        for name in ("query", "key"):
            check_tensor(name, layer[name], layer["query"])


def start_at(token: int, query: Tensor) -> Tensor:
    length = query.shape[-2]
    if not whole_number(token) or not -length <= token < length:
        raise InputError("there is no such token", found=f"{token!r}, of {length}", do=f"choose 0 to {length - 1}")
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    share = torch.zeros(*query.shape[:-3], length, dtype=wide, device=query.device)
    share[..., token] = 1.0
    return share


def check_square(layer: Layer, share: Tensor) -> None:
    sizes = layer["query"].shape[-2], layer["key"].shape[-2]
    if sizes != (share.shape[-1], share.shape[-1]):
        raise InputError(
            "rollout follows self-attention: every layer must have as many queries as keys, and all the same",
            found=f"a layer of {sizes[0]} queries and {sizes[1]} keys among layers of {share.shape[-1]}",
            do="leave out cross-attention, and record the whole text in one pass",
        )
