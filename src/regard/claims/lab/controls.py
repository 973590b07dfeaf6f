"""What a model is compared with: the same model with one thing left out or tied, made of the models' own blocks.

Settings such as "no residual" are no part of the models' configurations: nobody should train with them but to see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from regard.attention.dropout import drop
from regard.models import seams
from regard.models.layers import (
    Block,
    Cache,
    CrossAttention,
    FeedForward,
    Residual,
    SelfAttention,
    join,
    split,
    start_weights,
)

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


# Which matrices there are, and which of them stands for another; one that is missing leaves the vectors as they are.
PROJECTED: dict[str, tuple[str, ...]] = {
    "separate": ("query", "key", "value"), "query = key": ("query", "value"), "key = value": ("query", "key"),
    "all tied": ("query",), "embeddings directly": (),
}  # fmt: skip
TIED: dict[str, dict[str, str]] = {
    "separate": {}, "query = key": {"key": "query"}, "key = value": {"value": "key"},
    "all tied": {"key": "query", "value": "query"}, "embeddings directly": {},
}  # fmt: skip


class Projections(nn.Module):
    """Query, key and value of vectors, by heads: each by its own matrix, by another's, or by none."""

    def __init__(self, kind: str, dim: int, heads: int) -> None:
        super().__init__()
        self.kind, self.heads = kind, heads
        self.matrices = nn.ModuleDict({name: nn.Linear(dim, dim) for name in PROJECTED[kind]})
        start_weights(self, dim)

    def forward(self, name: str, x_BND: Tensor) -> Tensor:
        tied = TIED[self.kind].get(name, name)
        return split(self.matrices[tied](x_BND) if tied in self.matrices else x_BND, self.heads)


class ProjectedSelfAttention(nn.Module):
    """Self-attention whose query, key and value come from `Projections`; `out` as ever."""

    def __init__(self, original: SelfAttention, kind: str) -> None:
        super().__init__()
        self.causal, self.dropout = original.causal, original.dropout
        self.out, self.seam = original.out, original.seam
        self.project = Projections(kind, original.out.in_features, original.heads)

    def forward(self, x_BND: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        query, key, value = (self.project(name, x_BND) for name in ("query", "key", "value"))
        if cache is not None:
            key, value = cache.extend(self.seam.site, key, value)
        dropout = self.dropout if self.training else 0.0
        mixed = self.seam(query, key, value, mask=mask, causal=self.causal, dropout=dropout)
        joined: Tensor = self.out(join(mixed))
        return joined


class ProjectedCrossAttention(nn.Module):
    """The same for attention to another text: queries from here, keys and values from there."""

    def __init__(self, original: CrossAttention, kind: str) -> None:
        super().__init__()
        self.dropout, self.out, self.seam = original.dropout, original.out, original.seam
        self.project = Projections(kind, original.out.in_features, original.heads)

    def forward(self, x_BND: Tensor, memory: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        key, value = self.project("key", memory), self.project("value", memory)
        shape = x_BND.shape
        if key.shape[0] != shape[0]:  # the beams of a text are further queries of its one source
            x_BND = x_BND.reshape(key.shape[0], -1, shape[-1])
        dropout = self.dropout if self.training else 0.0
        joined: Tensor = self.out(join(self.seam(self.project("query", x_BND), key, value, mask=mask, dropout=dropout)))
        return joined.view(shape)


def with_projections(model: nn.Module, kind: str) -> None:
    """Every attention's query, key and value as `PROJECTED` says: separate, tied, or the vectors themselves."""
    for block in blocks(model):
        block.self_attention = ProjectedSelfAttention(block.self_attention, kind)  # type: ignore[assignment]
        if block.cross_attention is not None:
            block.cross_attention = ProjectedCrossAttention(block.cross_attention, kind)  # type: ignore[assignment]
