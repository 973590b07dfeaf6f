"""The six steps of attention, as in the textbook: Attention(Q, K, V) = softmax(Q Kᵀ / √d) V.

This page is the reference: every other way of computing attention here is tested against it in float64. It keeps
every intermediate under its name, so it needs memory for queries x keys. The letters are in `attention/__init__.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.dropout import drop


@dataclass(frozen=True)
class Steps:
    """Everything one attention computed, in order."""

    query: Tensor  # (B..., H, Q, D)
    key: Tensor  # (B..., J, K, D)
    value: Tensor  # (B..., J, K, V)
    scores: Tensor  # (B..., H, Q, K), as are all up to the weights
    scaled: Tensor
    capped: Tensor
    biased: Tensor
    masked: Tensor
    weights: Tensor
    output: Tensor  # (B..., H, Q, V)


def project(x_BND: Tensor, w_DE: Tensor, heads: int = 1) -> Tensor:
    """Step 1: what each word asks (w_q), offers (w_k) or says (w_v), one slice of the columns for each head."""
    return torch.unflatten(x_BND @ w_DE, -1, (heads, -1)).transpose(-3, -2)


def six_steps(
    query_BHQD: Tensor,
    key_BJKD: Tensor,
    value_BJKV: Tensor,
    *,
    scale: float,
    softcap: float | None = None,
    bias: Tensor | None = None,
    visible: Tensor | None = None,
    sinks_H: Tensor | None = None,
    dropout: float = 0.0,
) -> Steps:
    """Steps 2 to 6. `visible` is True where a query may look at a key; None: everywhere."""
    scores_BHQK = by_group(query_BHQD, key_BJKD.mT)  # 2. score: how well does each key answer each query?
    scaled_BHQK = scores_BHQK * scale  # 3. scale: keep the softmax from saturating as d grows
    capped_BHQK = scaled_BHQK if softcap is None else softcap * torch.tanh(scaled_BHQK / softcap)
    biased_BHQK = capped_BHQK if bias is None else capped_BHQK + bias
    masked_BHQK = biased_BHQK if visible is None else biased_BHQK.masked_fill(~visible, float("-inf"))  # 4. mask
    weights_BHQK = softmax(masked_BHQK, visible, sinks_H)  # 5. softmax: positive, each row sums to 1
    output_BHQV = by_group(drop(weights_BHQK, dropout), value_BJKV)  # 6. mix: the weighted mean of the values
    if visible is not None:  # a row that may look nowhere says nothing, whatever the values are
        output_BHQV = output_BHQV.masked_fill(~visible.any(-1, keepdim=True), 0.0)
    return Steps(
        query_BHQD, key_BJKD, value_BJKV,
        scores_BHQK, scaled_BHQK, capped_BHQK, biased_BHQK, masked_BHQK, weights_BHQK, output_BHQV,
    )  # fmt: skip


def softmax(masked_BHQK: Tensor, visible: Tensor | None = None, sinks_H: Tensor | None = None) -> Tensor:
    """exp(s) / sum exp(s) along each row; a sink joins the sum and gets no column; an empty row is all zeros."""
    empty = None if visible is None else ~visible.any(-1, keepdim=True)
    logits = masked_BHQK if empty is None else masked_BHQK.masked_fill(empty, 0.0)
    if sinks_H is not None:
        sink_BHQ1 = sinks_H[:, None, None].expand(*logits.shape[:-1], 1)
        logits = torch.cat([logits, sink_BHQ1.to(logits.dtype)], -1)
    weights = logits.softmax(-1)[..., : masked_BHQK.shape[-1]]
    return weights if empty is None else weights.masked_fill(empty, 0.0)


def by_group(left_BHQX: Tensor, right_BJXY: Tensor) -> Tensor:
    """left @ right, where each right head serves H / J left heads in a row and is never repeated in memory."""
    heads, queries = left_BHQX.shape[-3:-1]
    served = right_BJXY.shape[-3]
    stacked = torch.unflatten(left_BHQX, -3, (served, heads // served)).flatten(-3, -2)
    return torch.unflatten(stacked @ right_BJXY, -2, (heads // served, queries)).flatten(-4, -3)
