"""How much each key received: column sums of the weights, in a second pass that needs only q, k and lse."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions
from regard.attention.kernels.choose import by_kernel
from regard.attention.kernels.launches import columns_received
from regard.attention.scores import LogSum, Scores
from regard.attention.second_pass import exact_scores, read_pass, read_weigh
from regard.attention.threads import in_threads


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
    total = by_kernel(scores, lambda: columns_received(scores, sums, weigh_BJGQ))
    total = sum_blocks(exact_scores(scores), sums, weigh_BJGQ) if total is None else total
    return total.flatten(-3, -2)


def sum_blocks(scores: Scores, sums: LogSum, weigh_BJGQ: Tensor | None) -> Tensor:
    """What each key received, (B..., J, G, keys), block by block."""
    total = sums.top.new_zeros(*sums.top.shape[:-1], scores.rule.sight.keys)

    def give(rows: slice) -> tuple[slice, Tensor]:
        """What one block of rows gives to the keys it may see."""
        span = scores.rule.sight.span(rows)
        share = sums.top.new_zeros(*sums.top.shape[:-1], span.stop - span.start)
        for columns in scores.column_blocks(rows):
            weights = scores.weights(rows, columns, sums)
            part = weights if weigh_BJGQ is None else weights.mul_(weigh_BJGQ[..., rows, None])
            share[..., columns.start - span.start : columns.stop - span.start] = part.sum(-2)
        return span, share

    for span, share in in_threads(give, scores.row_blocks()[::-1], scores.device, scores.cells):
        total[..., span] += share
    return total
