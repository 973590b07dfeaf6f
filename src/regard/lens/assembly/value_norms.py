"""The norm of each value through W_O, which no weight on it can exceed: one number a key and head.

|v W| is the root of v (W W^T) v: with W W^T, as small as a head, made once, a long text needs no product with W. In
float64, since squares lose half of the digits.
"""

from __future__ import annotations

import torch
from torch import Tensor

PROJECTED = 1 << 24  # numbers that exist at a time while values go through W_O
MANY = 4  # times the dim of a value: for so many keys W W^T is made


def value_norms(value: Tensor, projection: Tensor | None, heads: tuple[int, ...]) -> Tensor:
    """(B, H, K) of values (B, J, K, V) through W_O (model dim, all heads x V), or as they are where it is unknown."""
    wide = torch.promote_types(value.dtype, torch.float32)
    if projection is None:
        alone: Tensor = value.to(wide).norm(dim=-1)
        return alone.repeat_interleave(len(heads) // value.shape[1], 1)
    if value.shape[2] > MANY * value.shape[3] and value.device.type != "mps":  # which has no float64
        return by_squares(value[None], projection[None], heads)[0]
    by_head = picked_heads(projection.to(wide).unflatten(1, (-1, value.shape[-1])), heads, 1).permute(1, 2, 0)
    value = value.to(wide).repeat_interleave(len(heads) // value.shape[1], 1)
    few = max(1, PROJECTED // max(1, value.shape[0] * by_head.shape[0] * by_head.shape[2]))
    return torch.cat([(block @ by_head).norm(dim=-1) for block in value.split(few, 2)], -1)


def by_squares(value: Tensor, projection: Tensor, heads: tuple[int, ...]) -> Tensor:
    """(attentions, B, H, K) of values (attentions, B, J, K, V) and matrices (attentions, model dim, heads x V)."""
    served, width = value.shape[2], value.shape[4]
    by_head = picked_heads(projection.double().unflatten(2, (-1, width)), heads, 2).permute(0, 2, 3, 1)  # (L, H, V, D)
    squares = (by_head @ by_head.mT).unflatten(1, (served, -1))  # (L, J, G, V, V)
    squares = squares.transpose(2, 3).flatten(3)[:, None]  # one product for all heads that a key head serves
    few = max(1, PROJECTED // max(1, value.shape[:2].numel() * len(heads) * width))
    blocks = []
    for block in value.split(few, 3):
        block = block.double()
        through = (block @ squares).unflatten(-1, (-1, width)).mul_(block[..., None, :])  # (L, B, J, k, G, V)
        blocks.append(through.sum(-1).clamp_(min=0.0).sqrt_())
    norms = blocks[0] if len(blocks) == 1 else torch.cat(blocks, 3)
    return norms.transpose(3, 4).flatten(2, 3).to(torch.promote_types(value.dtype, torch.float32))


def picked_heads(tensor: Tensor, heads: tuple[int, ...], dim: int) -> Tensor:
    """Some heads by their numbers, without an index that would have to be sent to the device."""
    if heads == tuple(range(tensor.shape[dim])):
        return tensor
    if heads == tuple(range(heads[0], heads[0] + len(heads))):
        return tensor.narrow(dim, heads[0], len(heads))
    return torch.stack([tensor.select(dim, head) for head in heads], dim)
