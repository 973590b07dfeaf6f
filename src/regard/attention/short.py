"""A few queries on a CPU, as every step of decoding asks: two products and a softmax, with nothing around them.

SDPA's kernel for CPUs is made for many queries; for the few of a decoding step these three lines take a third of its
time, and reading the arguments as carefully as `attend` does would take as long as they do. So what is plainly right is
recognised here, and all else, wrong arguments too, is left to the usual way.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.attention.scores import NOWHERE

QUERIES = 64  # beyond, its blocks of queries are full
CELLS = 1 << 22  # scores that exist at once: 16 MiB
EXACT = (torch.float32, torch.float64)


def is_short(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool) -> bool:
    """Are these the plain arguments of a decoding step? No gradient is asked for, and no row is empty."""
    if torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
        return False  # autocast would round the products
    if not type(query) is type(key) is type(value) is Tensor or query.ndim != 4:
        return False
    if query.dtype not in EXACT or query.device.type != "cpu" or query.layout != torch.strided:
        return False
    rows, heads, queries, dim = query.shape
    keys = key.shape[-2]
    if not 1 <= queries <= QUERIES or not 0 < rows * heads * queries * keys <= CELLS or dim == 0:
        return False
    if key.shape != (rows, heads, keys, dim) or value.shape[:3] != (rows, heads, keys) or value.ndim != 4:
        return False
    if not alike(key, query) or not alike(value, query):
        return False
    if causal is not False and (causal is not True or queries > 1):
        return False  # the one query of a step stands on the last key, and sees them all
    return mask is None or is_plain_mask(mask, (rows, heads, queries, keys))


def alike(tensor: Tensor, query: Tensor) -> bool:
    return tensor.dtype == query.dtype and tensor.device == query.device and tensor.layout == torch.strided


def is_plain_mask(mask: Tensor, shape: tuple[int, ...]) -> bool:
    """Booleans of the full rank, with something to see in every row."""
    if type(mask) is not Tensor or mask.dtype != torch.bool or mask.ndim != 4 or mask.device.type != "cpu":
        return False
    fits = all(size in (1, whole) for size, whole in zip(mask.shape, shape, strict=True))
    return fits and mask.layout == torch.strided and bool(mask.any(-1).all())


def short(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The output, and the scores that its weights are the softmax of."""
    scores = (query @ key.mT).mul_(1.0 / math.sqrt(query.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill_(~mask, NOWHERE)
    return scores.softmax(-1) @ value, scores
