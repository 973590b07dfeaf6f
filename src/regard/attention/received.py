"""How much each key received: column sums of the weights, in a second pass that needs only q, k and lse."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions
from regard.attention.kernels.choose import by_kernel
from regard.attention.kernels.launches import columns_received
from regard.attention.second_pass import exact_scores, read_pass, read_weigh


@torch.no_grad()
def received(
    query: Tensor, key: Tensor, lse: Tensor | None = None, *, weigh: Tensor | None = None, **score: Unpack[ScoreOptions]
) -> Tensor:
    """The attention each key got, (batch..., heads, keys): the sum over queries of their weights.

    `lse` is the one `attend(..., see="stats")` gave for the same arguments (computed again when left out). `weigh`,
    broadcastable to (batch..., heads, queries), gives each query its own importance.
    """
    scores, sums = read_pass(query, key, lse, score)
    weigh_BJGQ = read_weigh(weigh, "query", query, query.shape[-2], sums.top)
    sums_by_kernel = by_kernel(scores, lambda: columns_received(scores, sums, weigh_BJGQ))
    if sums_by_kernel is not None:
        return sums_by_kernel.flatten(-3, -2)
    scores, total = exact_scores(scores), sums.top.new_zeros(*sums.top.shape[:-1], key.shape[-2])
    for rows, columns in scores.blocks():
        weights = scores.weights(rows, columns, sums)
        part = weights if weigh_BJGQ is None else weights.mul_(weigh_BJGQ[..., rows, None])
        total[..., columns] += part.sum(-2)
    return total.flatten(-3, -2)
