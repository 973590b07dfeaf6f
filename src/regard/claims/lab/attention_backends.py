"""Attention by each of the ways in which it can be computed, whichever the door would choose."""

from __future__ import annotations

from torch import Tensor

from regard.attention.attend import BACKENDS
from regard.attention.inputs import read_scores

# The plain steps keep every weight; tiles keep a block of them at a time; the fused kernel is PyTorch's.
WAYS = {"steps": "dense", "tiled": "tiled", "fused": "fused"}


def by_backend(backend: str, query: Tensor, key: Tensor, value: Tensor, *, causal: bool = False) -> Tensor:
    """The same output as `attend` gives, by this way."""
    return BACKENDS[backend](read_scores(query, key, {"causal": causal}), value, 0.0).flatten(-4, -3)
