"""The blocks that every stack is made of: embeddings with positions, attention, feed-forward, residual with norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.dropout import drop
from regard.errors import InputError
from regard.models.config import BlockConfig
from regard.models.seam import Seam

KeyValue = tuple[Tensor, Tensor]
Projection = Callable[[Tensor, Tensor, Tensor | None], Tensor]  # (vectors, weight, bias): `F.linear` gives logits

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "tanh": torch.tanh,
}


class Cache(Protocol):
    """What a model needs of a cache while decoding; `decoding` provides it."""

    length: int  # how many positions the next token comes after

    def extend(self, site: str, key: Tensor, value: Tensor) -> KeyValue:
        """Add the newest keys and values of a site, and give all of them."""

    def once(self, site: str, make: Callable[[], KeyValue]) -> KeyValue:
        """The keys and values of a site that never change, made the first time they are asked for."""


class Embedding(nn.Module):
    """Words as vectors, with their positions added."""

    def __init__(
        self, config: BlockConfig, vocabulary: int, *, scaled: bool, table: nn.Embedding | None = None
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, config.dim) if table is None else table
        self.scale = math.sqrt(config.dim) if scaled else 1.0
        self.kind = config.positions
        learned = nn.Embedding(config.max_length, config.dim) if self.kind == "learned" else None
        self.register_module("places", learned)  # the name that it has in files of weights

    @property
    def learned(self) -> nn.Embedding | None:
        """The table of learned positions."""
        table = self._modules["places"]
        assert table is None or isinstance(table, nn.Embedding)
        return table

    def forward(self, ids_BN: Tensor, positions: Tensor) -> Tensor:
        """`positions` is each token's position, (N) or (B, N)."""
        x_BND: Tensor = self.table(ids_BN)
        x_BND = x_BND * self.scale if self.scale != 1.0 else x_BND
        if self.kind == "sinusoidal":
            return x_BND + sinusoids(positions, x_BND.shape[-1]).to(x_BND.dtype)
        if self.learned is None:
            return x_BND
        if positions.numel() and not recording(positions) and int(positions.max()) >= self.learned.num_embeddings:
            raise InputError(
                f"the text is longer than the {self.learned.num_embeddings} positions this model has learned",
                found=f"position {int(positions.max())}",
                do="shorten the text, or use a model with more positions",
            )
        return x_BND + cast(Tensor, self.learned(positions))


def recording(tensor: Tensor) -> bool:
    """Is a GPU taking down what it will replay, or an export the graph? Then nothing may wait for a number."""
    return torch.compiler.is_exporting() or (tensor.is_cuda and torch.cuda.is_current_stream_capturing())


def sinusoids(positions: Tensor, dim: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / dim)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / dim))."""
    exact = torch.float32 if positions.device.type == "mps" else torch.float64  # which Apple's devices do not have
    rates = torch.exp(torch.arange(0, dim, 2, device=positions.device, dtype=exact) * (-math.log(10000.0) / dim))
    angles = positions[..., None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


class SelfAttention(nn.Module):
    """Every position asks, offers and says; one matrix makes all three."""

    def __init__(self, config: BlockConfig, site: str, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal, self.dropout = config.heads, causal, config.attention_dropout
        self.qkv = nn.Linear(config.dim, 3 * config.dim)
        self.out = nn.Linear(config.dim, config.dim)
        self.seam = Seam(site)

    def forward(self, x_BND: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        query, key, value = (split(part, self.heads) for part in self.qkv(x_BND).chunk(3, -1))
        if cache is not None:
            key, value = cache.extend(self.seam.site, key, value)
        dropout = self.dropout if self.training else 0.0
        whole = getattr(cache, "mask", None)  # of a cache that knows who may look at what, causality included
        mask, causal = (mask, self.causal) if whole is None else (whole, False)
        mixed = self.seam(query, key, value, mask=mask, causal=causal, dropout=dropout)
        joined: Tensor = self.out(join(mixed))
        return joined


class CrossAttention(nn.Module):
    """Queries from the decoder, keys and values from the encoder."""

    def __init__(self, config: BlockConfig, site: str) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.attention_dropout
        self.q = nn.Linear(config.dim, config.dim)
        self.kv = nn.Linear(config.dim, 2 * config.dim)
        self.out = nn.Linear(config.dim, config.dim)
        self.seam = Seam(site)

    def forward(self, x_BND: Tensor, memory: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        key, value = (
            self.remember(memory) if cache is None else cache.once(self.seam.site, lambda: self.remember(memory))
        )
        shape, dropout = x_BND.shape, self.dropout if self.training else 0.0
        if key.shape[0] != x_BND.shape[0]:  # the beams of a text are further queries of its one source
            x_BND = x_BND.reshape(key.shape[0], -1, shape[-1])
        mixed = self.seam(split(self.q(x_BND), self.heads), key, value, mask=mask, dropout=dropout)
        joined: Tensor = self.out(join(mixed))
        return joined.view(shape)

    def remember(self, memory: Tensor) -> KeyValue:
        key, value = self.kv(memory).chunk(2, -1)
        return split(key, self.heads), split(value, self.heads)


class FeedForward(nn.Module):
    """The same two layers at every position."""

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.dim, config.feedforward)
        self.down = nn.Linear(config.feedforward, config.dim)
        self.activation, self.dropout = config.activation, config.feedforward_dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = ACTIVATIONS[self.activation](self.up(x))
        out: Tensor = self.down(drop(inner, self.dropout, self.training))
        return out


class Residual(nn.Module):
    """x + f(x) with a layer norm: after the sum, as in the paper, or before f."""

    def __init__(self, config: BlockConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.dim, eps=config.epsilon)
        self.first, self.dropout = config.norm == "pre", config.dropout

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        added = sublayer(self.norm(x) if self.first else x)
        total = x + drop(added, self.dropout, self.training)
        return total if self.first else self.norm(total)


class Block(nn.Module):
    """One layer of a stack: self-attention, cross-attention where there is something to look at, feed-forward."""

    def __init__(self, config: BlockConfig, site: str, *, causal: bool = False, cross: bool = False) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config, f"{site}.self", causal=causal)
        self.self_residual = Residual(config)
        self.cross_attention = CrossAttention(config, f"{site}.cross") if cross else None
        self.cross_residual = Residual(config) if cross else None
        self.feedforward = FeedForward(config)
        self.feedforward_residual = Residual(config)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, cache: Cache | None = None,
        memory: Tensor | None = None, memory_mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        x = self.self_residual(x, lambda y: self.self_attention(y, mask, cache))
        if self.cross_attention is not None and self.cross_residual is not None:
            cross = self.cross_attention
            x = self.cross_residual(x, lambda y: cross(y, memory, memory_mask, cache))
        done: Tensor = self.feedforward_residual(x, self.feedforward)
        return done


class Output(nn.Module):
    """From vectors to logits: by the embedding itself when tied, by a matrix of its own when not."""

    def __init__(self, dim: int, vocabulary: int, *, tied: bool, bias: bool) -> None:
        super().__init__()
        self.linear = None if tied else nn.Linear(dim, vocabulary, bias=False)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None

    def forward(self, x: Tensor, table: nn.Embedding, project: Projection = F.linear) -> Tensor:
        """A loss that never holds all logits takes the place of `F.linear`."""
        return project(x, table.weight if self.linear is None else self.linear.weight, self.bias)


def split(x_BNE: Tensor, heads: int) -> Tensor:
    """(B, N, heads * d) -> (B, heads, N, d), as a view."""
    return torch.unflatten(x_BNE, -1, (heads, -1)).transpose(-3, -2)


def join(x_BHNd: Tensor) -> Tensor:
    return x_BHNd.transpose(-3, -2).flatten(-2)


def final_norm(config: BlockConfig) -> nn.Module:
    """With norms before the sublayers, the last sum still needs one."""
    return nn.LayerNorm(config.dim, eps=config.epsilon) if config.norm == "pre" else nn.Identity()


def key_mask(mask_BK: Tensor | None) -> Tensor | None:
    """Which keys are words, not padding, as `attend` takes it."""
    return None if mask_BK is None else mask_BK[:, None, None, :]


def positions_of(ids: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
    """Each token's position: counted over the words only when there is padding, after what the cache holds."""
    length = ids.shape[-1]
    if mask is not None:
        return (mask.long().cumsum(-1) - 1).clamp(min=0)[:, -length:]
    if (positions := getattr(cache, "positions", None)) is not None:
        return cast(Tensor, positions)  # of a cache that counts on its device
    return torch.arange(length, device=ids.device) + (0 if cache is None else cache.length)


def start_weights(module: nn.Module, dim: int) -> None:
    """Matrices by Xavier, embeddings with standard deviation dim^-0.5: larger ones saturate the first softmaxes."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=dim**-0.5)
