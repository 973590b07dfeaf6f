"""How much each key received: column sums of the weights, in a second pass that needs only q, k and lse."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions, broadcasts, check_device
from regard.attention.second_pass import read_pass
from regard.errors import ShapeError


@torch.no_grad()
def received(
    query: Tensor, key: Tensor, lse: Tensor | None = None, *, weigh: Tensor | None = None, **score: Unpack[ScoreOptions]
) -> Tensor:
    """The attention each key got, (batch..., heads, keys): the sum over queries of their weights.

    `lse` is the one `attend(..., see="stats")` gave for the same arguments (computed again when left out). `weigh`,
    broadcastable to (batch..., heads, queries), gives each query its own importance.
    """
    scores, sums = read_pass(query, key, lse, score)
    weigh_BJGQ = read_weigh(weigh, query, sums.top)
    total = sums.top.new_zeros(*sums.top.shape[:-1], key.shape[-2])
    for rows, columns in scores.blocks():
        weights = scores.weights(rows, columns, sums)
        part = weights if weigh_BJGQ is None else weights.mul_(weigh_BJGQ[..., rows, None])
        total[..., columns] += part.sum(-2)
    return total.flatten(-3, -2)


def read_weigh(weigh: Tensor | None, query: Tensor, like_BJGQ: Tensor) -> Tensor | None:
    """Each query's importance, grouped as its heads are."""
    if weigh is None:
        return None
    shape = query.shape[:-1]
    if not isinstance(weigh, Tensor) or weigh.is_complex() or not broadcasts(weigh.shape, shape):
        given = f"{tuple(weigh.shape)} of {weigh.dtype}" if isinstance(weigh, Tensor) else type(weigh).__qualname__
        raise ShapeError(
            "weigh must give each query a number: a tensor that broadcasts to (batch..., heads, queries)",
            found=f"weigh {given}, query {tuple(query.shape)}",
            do=f"give it the shape {tuple(shape)}, or 1 where it is the same",
        )
    check_device("weigh", weigh, query)
    return weigh.to(like_BJGQ.dtype).expand(shape).reshape(like_BJGQ.shape)
