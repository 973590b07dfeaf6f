"""PyTorch's scaled_dot_product_attention, where it means the same as our equation and stays within O(N) memory."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.scores import NOWHERE, Scores

GRID = 1 << 24  # the largest mask we build for it; beyond that the tiled path needs less memory


def fits(scores: Scores, dropout: float) -> bool:
    """Can SDPA compute this exactly without falling to its dense path?"""
    rule = scores.rule
    if rule.softcap is not None or scores.sinks_JG is not None or scores.cells == 0:
        return False
    if dropout and scores.device.type == "cpu" and scores.cells > GRID:
        return False  # on a CPU dropout takes the dense path
    if any(term.requires_grad for term in scores.terms):
        return False  # so does a trained bias
    exact = scores.query_BJGQD.dtype in (torch.float32, torch.float64)
    if any(term.dtype != scores.query_BJGQD.dtype for term in scores.terms) or (len(scores.terms) > 1 and not exact):
        return False  # a float32 bias rounded to bfloat16 would be another bias
    return grid_size(scores) <= GRID


def grid_size(scores: Scores) -> int:
    """How many cells the one mask that SDPA takes would have beyond those the caller already holds."""
    sight = scores.rule.sight
    terms = [*scores.terms, *([] if sight.mask is None else [sight.mask])]
    shapes = [term.shape for term in terms]
    if sight.banded and not (sight.causal_square and not terms):
        shapes.append(torch.Size((sight.queries, sight.keys)))
    if not shapes:
        return 0
    held = max((term.numel() for term in terms), default=0)
    size = torch.broadcast_shapes(*shapes).numel()
    return 0 if size == held else size


def fused(scores: Scores, value_BJKV: Tensor, dropout: float = 0.0) -> Tensor:
    """The output (B..., J, G, Q, V)."""
    sight = scores.rule.sight
    causal = sight.banded and sight.causal_square and sight.mask is None and not scores.terms
    mask, empty = (None, None) if causal else one_mask(scores)
    query_BHQD = scores.query_BJGQD.flatten(-4, -3)
    query, key, value = even_dims(query_BHQD, scores.key_BJKD, value_BJKV)
    output = F.scaled_dot_product_attention(
        four(query), four(key), four(value),
        attn_mask=None if mask is None else mask_of_four(mask, query.shape[:-3]),
        is_causal=causal, dropout_p=dropout, scale=scores.rule.scale, enable_gqa=query.shape[-3] != key.shape[-3],
    )  # fmt: skip
    output = output[..., : value_BJKV.shape[-1]].reshape(*scores.query_BJGQD.shape[:-1], value_BJKV.shape[-1])
    return output if empty is None else output.masked_fill(empty, 0.0)


def one_mask(scores: Scores) -> tuple[Tensor | None, Tensor | None]:
    """All masks and biases as the one that SDPA takes, and which rows are empty, both broadcastable (..., Q, K).

    An empty row is shown everything and its output zeroed afterwards: SDPA then never meets a row that it could turn
    into NaN, in value or gradient.
    """
    sight = scores.rule.sight
    visible = scores.visible(slice(0, sight.queries), slice(0, sight.keys))
    if visible is None:
        return None, None
    empty = ~visible.any(-1, keepdim=True)
    if not scores.terms:
        return visible | empty, empty
    total = scores.terms[0]
    for term in scores.terms[1:]:
        total = total + term
    return torch.where(visible, total, NOWHERE).masked_fill(empty, 0.0), empty


def even_dims(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pad with zeros until value and key have one dim: scores stay the same, the output gains columns of zeros."""
    missing = query.shape[-1] - value.shape[-1]
    if missing >= 0:
        return query, key, F.pad(value, (0, missing)) if missing else value
    return F.pad(query, (0, -missing)), F.pad(key, (0, -missing)), value


def four(tensor: Tensor) -> Tensor:
    """The same tensor with all its batch dims in one: SDPA's kernels take rank 4 only."""
    return tensor.reshape(-1, *tensor.shape[-3:])


def mask_of_four(mask: Tensor, batch: torch.Size) -> Tensor:
    """A grouped mask as (batch or 1, heads or 1, queries, keys), copied only if it varies over some batch dims."""
    rank = len(batch) + 4
    mask = mask.reshape((1,) * (rank - mask.ndim) + mask.shape).flatten(-4, -3)
    lead = mask.shape[:-3]
    return four(mask) if lead.numel() == 1 else four(mask.expand(*batch, *mask.shape[-3:]))
