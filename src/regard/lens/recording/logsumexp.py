"""The lse of every row, from queries and keys: by PyTorch's own kernel where it tells it, else block by block."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.attention.masks import Sight
from regard.attention.scores import NOWHERE
from regard.attention.second_pass import read_pass
from regard.lens.recording.score_terms import Terms
from regard.lens.torch_names import flash_lse

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
FEW = 1 << 20  # cells of queries x keys for which the kernel is not worth its rounding: a single key gets 1 - 1e-7
DEEP = -1e30  # a score of which nothing is left, and with which one can still calculate


def log_sums(query: Tensor, key: Tensor, terms: Terms, parts: list[slice]) -> Tensor:
    """(B, H, Q), worked out for some rows at a time where the kernel does not know these terms."""
    if knows(query, key, terms):
        return by_the_kernel(query, key, terms)
    columns, found = slice(0, key.shape[-2]), []
    for part in parts:
        _, sums = read_pass(query[..., part, :], key, None, terms.options(part, columns, query.shape[-2]))
        found.append(sums.total.flatten(-3, -2))
    return torch.cat(found, -1)


def knows(query: Tensor, key: Tensor, terms: Terms) -> bool:
    """Does the kernel compute just this: all of it or the lower triangle of a square, perhaps with keys hidden?"""
    if query.device.type != "cpu" or query.dtype not in FLOATS or key.dtype != query.dtype or terms.scale <= 0:
        return False
    if query.shape[:-1].numel() * key.shape[-2] <= FEW:
        return False
    if any(term is not None for term in (terms.softcap, terms.bias, terms.diagonals, terms.sinks)):
        return False
    padded = terms.mask is None or (terms.mask.dtype == torch.bool and terms.mask.shape[2] == 1)
    sight = sight_of(query, key, terms)
    return padded and (not sight.banded or sight.causal_square)


def by_the_kernel(query: Tensor, key: Tensor, terms: Terms) -> Tensor:
    """The fused attention over the keys as their own values, of which only the sums are wanted."""
    causal, wide = sight_of(query, key, terms).banded, torch.promote_types(query.dtype, torch.float32)
    query, key = query.to(wide), key.to(wide).repeat_interleave(query.shape[1] // key.shape[1], 1)  # not to be rounded
    if terms.mask is not None:
        query, key = with_hidden_keys(query, key, terms.mask)
    total = flash_lse(query, key, terms.scale, causal=causal)
    return total if terms.mask is None else total.masked_fill(total < DEEP * terms.scale / 2, NOWHERE)


def with_hidden_keys(query: Tensor, key: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """One dim more, 1 in every query and hopelessly low in hidden keys: so no mask of queries x keys is needed."""
    hidden = key.new_zeros(()).expand(key.shape[:-1]).masked_fill(~mask[:, :, 0], DEEP)
    ones = query.new_ones(()).expand(query.shape[:-1])
    return torch.cat([query, ones[..., None]], -1), torch.cat([key, hidden[..., None]], -1)


def sight_of(query: Tensor, key: Tensor, terms: Terms) -> Sight:
    return Sight.over(query.shape[-2], key.shape[-2], terms.offset, terms.bound)
