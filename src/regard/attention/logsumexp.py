"""The logsumexp of every row of scores: by PyTorch's own kernel where it gives it, else block by block."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions
from regard.attention.masks import Sight
from regard.attention.scores import NOWHERE
from regard.attention.second_pass import read_pass
from regard.attention.torch_names import flash_with_lse

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
FEW = 1 << 20  # cells of queries x keys for which the kernel is not worth its rounding: a single key gets 1 - 1e-7
DEEP = -1e30  # a score of which nothing is left, and with which one can still calculate


def logsumexp(query: Tensor, key: Tensor, **options: Unpack[ScoreOptions]) -> Tensor:
    """The lse (B, H, Q) of query (B, H, Q, D) and key (B, J, K, D), with the options of `attend`."""
    if kernel_knows(query, key, options):
        return by_the_kernel(query, key, options)
    _, sums = read_pass(query, key, None, options)
    return sums.total.flatten(-3, -2)


def worthwhile(query: Tensor, key: Tensor) -> bool:
    """Are there so many cells that the kernel's rounding is a fair price for its speed? On a GPU always."""
    return query.device.type != "cpu" or query.shape[:-1].numel() * key.shape[-2] > FEW


def kernel_knows(query: Tensor, key: Tensor, options: ScoreOptions) -> bool:
    """Does the kernel compute just this: all of it or the lower triangle of a square, perhaps with keys hidden?"""
    if query.device.type != "cpu" or query.dtype not in FLOATS or key.dtype != query.dtype:
        return False
    scale, mask = options.get("scale"), options.get("mask")
    if not worthwhile(query, key) or (scale is not None and scale <= 0):
        return False
    if any(options.get(name) is not None for name in ("softcap", "bias", "sinks")):
        return False
    padded = mask is None or (mask.dtype == torch.bool and mask.ndim == 4 and mask.shape[2] == 1)
    sight = sight_of(query, key, options)
    return padded and (not sight.banded or sight.causal_square)


def by_the_kernel(query: Tensor, key: Tensor, options: ScoreOptions) -> Tensor:
    """The fused attention over the keys as their own values, of which only the lse is wanted."""
    causal, wide = sight_of(query, key, options).banded, torch.promote_types(query.dtype, torch.float32)
    scale, mask = options.get("scale"), options.get("mask")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    query, key = query.to(wide), key.to(wide).repeat_interleave(query.shape[1] // key.shape[1], 1)  # not to be rounded
    if mask is not None:
        query, key = with_hidden_keys(query, key, mask)
    _, lse = flash_with_lse(query, key, key, None, causal, scale)
    return lse if mask is None else lse.masked_fill(lse < DEEP * scale / 2, NOWHERE)


def with_hidden_keys(query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """One dim more, 1 in every query and hopelessly low in hidden keys: so no mask of queries x keys is needed."""
    hidden = key.new_zeros(()).expand(key.shape[:-1]).masked_fill(~mask[:, :, 0], DEEP)
    ones = query.new_ones(()).expand(query.shape[:-1])
    return torch.cat([query, ones[..., None]], -1), torch.cat([key, hidden[..., None]], -1)


def sight_of(query: Tensor, key: Tensor, options: ScoreOptions) -> Sight:
    queries, keys = query.shape[-2], key.shape[-2]
    offset, window = options.get("offset"), options.get("window") or (None, None)
    bound = (window[0], 0) if options.get("causal") else window
    return Sight.over(queries, keys, keys - queries if offset is None else offset, bound)
