"""How much each key received: column sums of the weights, in a second pass that needs only q, k and lse."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions
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
    scores, lse_BJGQ = read_pass(query, key, lse, score)
    weigh_BJGQ = read_weigh(weigh, query, lse_BJGQ)
    total = lse_BJGQ.new_zeros(*lse_BJGQ.shape[:-1], key.shape[-2])
    for rows in scores.row_blocks():
        for columns in scores.column_blocks(rows):
            weights = scores.weights(rows, columns, lse_BJGQ)
            part = weights if weigh_BJGQ is None else weights.mul_(weigh_BJGQ[..., rows, None])
            total[..., columns] += part.sum(-2)
    return total.flatten(-3, -2)


def read_weigh(weigh: Tensor | None, query: Tensor, lse_BJGQ: Tensor) -> Tensor | None:
    if weigh is None:
        return None
    shape = query.shape[:-1]
    try:
        wide = weigh.to(lse_BJGQ.dtype).expand(shape)
    except (RuntimeError, AttributeError) as error:
        given = tuple(weigh.shape) if isinstance(weigh, Tensor) else type(weigh).__qualname__
        raise ShapeError(
            "weigh must give each query a number: a tensor that broadcasts to (batch..., heads, queries)",
            found=f"weigh {given}, query {tuple(query.shape)}",
            do=f"give it the shape {tuple(shape)}, or 1 where it is the same",
        ) from error
    return torch.reshape(wide, lse_BJGQ.shape)
