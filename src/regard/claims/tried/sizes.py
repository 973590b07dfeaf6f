"""Do 512 numbers need 512 × 512 weights for a query, and as many for a key and a value: with several heads too?"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import exactly
from regard.claims.measurement import BarPlot, Cell, Measurement, ResultTable
from regard.claims.setting import Setting
from regard.models import TransformerConfig
from regard.models.layers import SelfAttention

DIMS = (512,), (512, 768, 1024)  # quickly, and in full
HEADS = (1, 2, 4, 8, 16)
LECTURE = 8  # heads of the lecture's model
PARTS = ("query", "key", "value")


class Sizes(NamedTuple):
    """Weights that vectors hang on, biases aside."""

    a_head: int  # the query of one head
    together: int  # the queries of all heads
    rank: int  # how many dims of a word the scores of one head can tell apart


def layer_of(dim: int, heads: int, seed: int) -> SelfAttention:
    """The models' own layer."""
    torch.manual_seed(seed)
    return SelfAttention(TransformerConfig(dim=dim, heads=heads), "encoder.0.self", causal=False).double()


def head_vectors(layer: SelfAttention, words_BND: Tensor) -> dict[str, Tensor]:
    """Query, key and value of every head, (B, heads, N, d) each, as they reach attention."""
    vectors: dict[str, Tensor] = {}

    def hook(_: str, call: Any, *parts: Tensor, **options: Any) -> Tensor:
        vectors.update(zip(PARTS, parts, strict=True))
        output: Tensor = call(*parts, **options)
        return output

    with layer.seam.hooked(hook):
        layer(words_BND, None, None)
    return vectors


def hangs_on(vectors: Tensor, weight: Tensor) -> int:
    """How many of the weights change these vectors: those that have a gradient for a drawn mix of their numbers."""
    mix = torch.randn(vectors.shape, dtype=vectors.dtype)
    (gradient,) = torch.autograd.grad((vectors * mix).sum(), weight, retain_graph=True)
    return int((gradient != 0).sum())


def sizes_of(dim: int, heads: int, seed: int, part: str = "query") -> Sizes:
    layer = layer_of(dim, heads, seed)
    vectors = head_vectors(layer, torch.randn(1, 4, dim, dtype=torch.float64))[part]
    weight = layer.qkv.weight
    width = dim // heads
    query, key = (weight.detach()[start : start + width] for start in (0, dim))  # of the first head
    rank = int(torch.linalg.matrix_rank(query.mT @ key))
    return Sizes(hangs_on(vectors[:, 0], weight), hangs_on(vectors, weight), rank)


def torch_size(dim: int, heads: int) -> int:
    """The control: what PyTorch's own layer has for queries."""
    with torch.device("meta"):
        weight = nn.MultiheadAttention(dim, heads).in_proj_weight
    assert weight is not None
    return weight.numel() // len(PARTS)


def measure(setting: Setting) -> Measurement:
    seed = setting.seeds[0]
    dims = setting.quick_or_full(*DIMS)
    rows: list[tuple[Cell, ...]] = []
    shares: dict[int, list[tuple[float, float]]] = {}  # of dim x dim: one head's, all heads'
    for dim in dims:
        for heads in HEADS:
            one = sizes_of(dim, heads, seed)
            shares.setdefault(heads, []).append((one.a_head / dim**2, one.together / dim**2))
            rows.append((dim, heads, dim // heads, one.a_head, one.together, torch_size(dim, heads), one.rank))
    columns = ("numbers", "heads", "a head's", "its weights", "all heads' weights", "in PyTorch's layer", "rank")
    table = ResultTable("The weights that queries are made with", columns, tuple(rows))
    together = [share for some in shares.values() for _, share in some]
    numbers = {
        "a_head": exactly(max(share for share, _ in shares[LECTURE])),
        "together_least": exactly(min(together)),
        "together_most": exactly(max(together)),
    }
    bars = tuple((f"{heads} heads" if heads > 1 else "1 head", exactly(some[0][0])) for heads, some in shares.items())
    plot = BarPlot(
        f"Weights of one head's query, of {dims[0]} × {dims[0]}", "share", bars, ("all heads together", together[0])
    )
    return Measurement(numbers, (table,), plot, remarks_of(dims[0], seed))


def remarks_of(dim: int, seed: int) -> tuple[str, ...]:
    others = {part: sizes_of(dim, LECTURE, seed, part).together for part in PARTS[1:]}
    biases = layer_of(dim, LECTURE, seed).qkv.bias.numel()
    return (
        f"With {LECTURE} heads keys hang on {others['key']:,} weights and values on {others['value']:,}; {biases:,} "
        "biases come on top, and a matrix as large again mixes what the heads give.",
        "Rank: the scores of a head are made by a matrix of all its numbers by all, but one of so few dims: what a "
        "narrow head compares is narrow too.",
    )


def holds(numbers: Numbers) -> bool:
    return all(one.value == 1 for one in numbers.values())


def fails(numbers: Numbers) -> bool:
    return numbers["together_least"].value != 1 or numbers["together_most"].value != 1


CLAIM = Claim(
    name="sizes",
    statement="To make a query, a key or a value of 512 numbers from 512 takes a matrix of 512 × 512 weights, however "
    "many heads there are.",
    if_true="The query of every head hangs on 512 × 512 weights.",
    if_false="The query of one head hangs on fewer; if those of all heads together do not hang on 512 × 512 either, "
    "nothing of it is left.",
    control="The same counted in PyTorch's own layer; and one head, which is the whole matrix.",
    measure=measure,
    rule=VerdictRule(
        f"the query of one head of {LECTURE} hangs on all 512 × 512 weights, and of all together on no more",
        "the queries of all heads together hang on another number of weights for some number of heads",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
)
