"""What a model is compared with: the same model with one thing left out or tied, made of the models' own blocks.

Settings such as "no residual" are no part of the models' configurations: nobody should train with them but to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.dropout import drop
from regard.models import seams
from regard.models.layers import Block, FeedForward, Residual, start_weights

Attend = Callable[..., Tensor]


@contextmanager
def scaled_by(model: nn.Module, scale: float) -> Iterator[None]:
    """Every attention of the model multiplies its scores by this, in training and after it."""

    def hook(_: str, call: Attend, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        return call(query, key, value, **{**options, "scale": scale})

    with ExitStack() as stack:
        for seam in seams(model).values():
            stack.enter_context(seam.hooked(hook, innermost=True))
        yield


def blocks(model: nn.Module) -> list[Block]:
    """Every layer of every stack."""
    return [part for part in model.modules() if isinstance(part, Block)]


class NoResidual(nn.Module):
    """f(x) alone, with the residual's norm where it stands: before f, or after it."""

    def __init__(self, residual: Residual) -> None:
        super().__init__()
        self.norm, self.first, self.dropout = residual.norm, residual.first, residual.dropout

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        out = drop(sublayer(self.norm(x) if self.first else x), self.dropout, self.training)
        done: Tensor = out if self.first else self.norm(out)
        return done


def without_residuals(model: nn.Module) -> None:
    for block in blocks(model):
        for name in ("self_residual", "cross_residual", "feedforward_residual"):
            if (residual := getattr(block, name)) is not None:
                setattr(block, name, NoResidual(residual))


class NoSublayer(nn.Module):
    """Adds nothing: x stays x."""

    def forward(self, x: Tensor) -> Tensor:
        return x.new_zeros(()).expand_as(x)


def without_feed_forward(model: nn.Module) -> None:
    for block in blocks(model):
        block.feedforward = NoSublayer()  # type: ignore[assignment]


class LinearFeedForward(nn.Module):
    """The same two matrices with nothing between them."""

    def __init__(self, original: FeedForward) -> None:
        super().__init__()
        self.up, self.down = original.up, original.down

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down(self.up(x))
        return out


def with_linear_feed_forward(model: nn.Module) -> None:
    for block in blocks(model):
        block.feedforward = LinearFeedForward(block.feedforward)  # type: ignore[assignment]


# Which matrices there are, and which of them stands for another; where there is none the vectors stay as they are.
PROJECTED: dict[str, tuple[str, ...]] = {
    "separate": ("query", "key", "value"), "query = key": ("query", "value"), "key = value": ("query", "key"),
    "embeddings directly": (),
}  # fmt: skip
TIED: dict[str, dict[str, str]] = {
    "separate": {}, "query = key": {"key": "query"}, "key = value": {"value": "key"},
    "embeddings directly": {},
}  # fmt: skip


class Projections(nn.Module):
    """Stands where an attention layer has its matrix for queries, keys and values, or for some of them."""

    def __init__(self, matrices: nn.ModuleDict, kind: str, names: tuple[str, ...]) -> None:
        super().__init__()
        self.matrices, self.names = matrices, [TIED[kind].get(name, name) for name in names]

    def forward(self, x_BND: Tensor) -> Tensor:
        return torch.cat([self.matrices[name](x_BND) if name in self.matrices else x_BND for name in self.names], -1)


def with_projections(model: nn.Module, kind: str) -> None:
    """Every attention's query, key and value as `PROJECTED` says: separate, tied, or the vectors themselves."""
    for block in blocks(model):
        dim = block.self_attention.out.in_features
        block.self_attention.qkv = Projections(fresh(kind, dim), kind, ("query", "key", "value"))  # type: ignore[assignment]
        if (cross := block.cross_attention) is not None:
            matrices = fresh(kind, dim)
            cross.q = Projections(matrices, kind, ("query",))  # type: ignore[assignment]
            cross.kv = Projections(matrices, kind, ("key", "value"))  # type: ignore[assignment]


def fresh(kind: str, dim: int) -> nn.ModuleDict:
    """The matrices that there are, with new weights."""
    matrices = nn.ModuleDict({name: nn.Linear(dim, dim) for name in PROJECTED[kind]})
    start_weights(matrices, dim)
    return matrices


def with_wider_feed_forward(model: nn.Module, kind: str) -> None:
    """What `with_projections` saved goes to the feed-forward layers, so that the model is as large as it was."""
    for block in blocks(model):
        dim, layer = block.self_attention.out.in_features, block.feedforward
        attentions = 1 if block.cross_attention is None else 2
        saved = attentions * (3 - len(PROJECTED[kind])) * (dim * dim + dim)
        if wider := round(saved / (2 * dim + 1)):
            width = layer.up.out_features + wider
            layer.up, layer.down = nn.Linear(dim, width), nn.Linear(width, dim)
            start_weights(layer, dim)
