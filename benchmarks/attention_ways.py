"""Attention computed by everybody: SDPA's backends, FlexAttention, the plain way, and ours, from the same `Inputs`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.attention import attend, received

Shape = tuple[int, int, int, int]  # batch, heads, tokens, dim of a head


@dataclass(frozen=True)
class Inputs:
    query: Tensor
    key: Tensor
    value: Tensor
    lse: Tensor
    causal: bool

    @classmethod
    def draw(cls, shape: Shape, causal: bool, device: str, dtype: torch.dtype) -> Inputs:
        query, key, value = (torch.randn(shape, device=device, dtype=dtype) for _ in range(3))
        lse = torch.empty(shape[:-1], device=device).fill_(20.0)  # the second passes take the same time whatever it is
        return cls(query, key, value, lse, causal)

    @property
    def cells(self) -> int:
        return self.query.shape[:-1].numel() * self.key.shape[-2]


def sdpa(inputs: Inputs, backend: SDPBackend | None = None) -> Tensor:
    context: AbstractContextManager[Any] = nullcontext() if backend is None else sdpa_kernel(backend)
    with context:
        return F.scaled_dot_product_attention(inputs.query, inputs.key, inputs.value, is_causal=inputs.causal)


def eager(inputs: Inputs) -> tuple[Tensor, Tensor]:
    scores = inputs.query @ inputs.key.mT * inputs.query.shape[-1] ** -0.5
    if inputs.causal:
        scores = scores.masked_fill(
            torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1), -torch.inf
        )
    weights = scores.softmax(-1)
    return weights @ inputs.value, weights


def lower_triangle(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return query >= key


class Flex:
    """FlexAttention, compiled once, with the block mask of each length."""

    def __init__(self) -> None:
        from torch.nn.attention import flex_attention

        self.module, self.masks = flex_attention, {}
        self.run = torch.compile(flex_attention.flex_attention)

    def __call__(self, inputs: Inputs) -> Tensor:
        length, mask = inputs.query.shape[-2], None
        if inputs.causal:
            if length not in self.masks:
                causal = lambda batch, head, query, key: query >= key  # noqa: E731
                self.masks[length] = self.module.create_block_mask(
                    causal, None, None, length, length, inputs.query.device
                )
            mask = self.masks[length]
        output: Tensor = self.run(inputs.query, inputs.key, inputs.value, block_mask=mask)
        return output


def ways(device: str) -> Iterator[tuple[str, Callable[[Inputs], object]]]:
    """Peers, then ours."""
    if device == "cuda":
        yield "SDPA, flash", partial(sdpa, backend=SDPBackend.FLASH_ATTENTION)
        yield "SDPA, cuDNN", partial(sdpa, backend=SDPBackend.CUDNN_ATTENTION)
        yield "SDPA, efficient", partial(sdpa, backend=SDPBackend.EFFICIENT_ATTENTION)
        yield "FlexAttention", Flex()
    else:
        yield "SDPA", sdpa
    yield "eager with weights", eager
    yield "attend", lambda i: attend(i.query, i.key, i.value, causal=i.causal)
    yield "attend, statistics", lambda i: attend(i.query, i.key, i.value, causal=i.causal, see="stats")
    yield "received", lambda i: received(i.query, i.key, i.lse, causal=i.causal)
