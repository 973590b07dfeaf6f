"""The blocks: each against its formula, plain `math`, or torch's own layer with the same weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.decoding import KeyValueCache
from regard.errors import InputError
from regard.models import build
from regard.models.layers import (
    ACTIVATIONS,
    CrossAttention,
    Embedding,
    FeedForward,
    Output,
    Residual,
    SelfAttention,
    final_norm,
    join,
    key_mask,
    positions_of,
    sinusoids,
    split,
)
from tests.bounds import sums_apart
from tests.families import decoder, encoder, settled, transformer

PRECISIONS = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
ATTENDING = 4  # sums in a row: project, score, mix, project
ROW = 24  # terms of the longest sum in a small layer, that of the feed-forward's inside


def near(found: Tensor, expected: Tensor, sums: int = 1) -> None:
    """After so many sums in a row, of numbers whose absolute values add up to what a row of the result has at most."""
    size = ROW * max(1.0, expected.detach().abs().max().item())
    torch.testing.assert_close(found, expected, atol=sums * sums_apart(ROW, size, expected.dtype), rtol=0)


def drawn(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


# Positions


@pytest.mark.parametrize("dim", [2, 6, 64, 512])
def test_sinusoids_are_the_papers(dim: int) -> None:
    found = sinusoids(torch.tensor([0, 1, 2, 17, 1000, 99_999]), dim)
    for row, position in zip(found.tolist(), [0, 1, 2, 17, 1000, 99_999], strict=True):
        for i in range(dim // 2):
            angle = position / 10000 ** (2 * i / dim)
            # Each side rounds an exponent of up to log 10000 = 9.2: so far is an angle off, as a share of itself.
            near_it = sums_apart(20, max(1.0, angle), torch.float64)
            assert row[2 * i] == pytest.approx(math.sin(angle), abs=near_it)
            assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=near_it)


def test_sinusoids_take_positions_of_any_shape() -> None:
    positions = torch.tensor([[0, 0, 1, 2], [5, 6, 7, 8]])
    found = sinusoids(positions, 8)
    assert found.shape == (2, 4, 8)
    assert torch.equal(found[1, 2], sinusoids(torch.tensor([7]), 8)[0])


def test_positions_count_from_zero_or_from_what_the_cache_holds() -> None:
    ids = torch.zeros(2, 3, dtype=torch.long)
    assert positions_of(ids, None, None).tolist() == [0, 1, 2]
    cache = KeyValueCache()
    cache.length = 5
    assert positions_of(ids, None, cache).tolist() == [5, 6, 7]


def test_positions_count_words_only_when_there_is_padding() -> None:
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 0], [1, 0, 1, 1], [0, 0, 0, 0]]).bool()
    ids = torch.zeros(4, 4, dtype=torch.long)
    positions = positions_of(ids, mask, None)
    assert [row[words].tolist() for row, words in zip(positions, mask, strict=True)] == [
        [0, 1],
        [0, 1, 2],
        [0, 1, 2],
        [],
    ]
    assert positions.min() >= 0
    newest = positions_of(ids[:, :1], mask, KeyValueCache())
    assert newest.tolist() == positions[:, -1:].tolist()


# Embeddings


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "none"])
def test_an_embedding_is_a_row_of_the_table_with_its_position(kind: str, scaled: bool) -> None:
    layer = Embedding(transformer(positions=kind), 19, scaled=scaled).double()
    ids, positions = torch.tensor([[4, 4, 9]]), torch.arange(3)
    found = layer(ids, positions)
    for index in range(3):
        expected = layer.table.weight[ids[0, index]] * (4.0 if scaled else 1.0)
        if kind == "sinusoidal":
            expected = expected + sinusoids(positions, 16)[index]
        elif kind == "learned":
            expected = expected + layer.learned.weight[index]
        near(found[0, index], expected)


def test_sinusoidal_positions_have_no_end() -> None:
    layer = Embedding(transformer(positions="sinusoidal", max_length=4), 19, scaled=True)
    assert layer(torch.full((1, 3), 5), torch.tensor([100, 1000, 5000])).isfinite().all()


def test_learned_positions_end_with_a_sentence() -> None:
    layer = Embedding(transformer(positions="learned", max_length=4), 19, scaled=True)
    assert layer(torch.full((1, 4), 5), torch.arange(4)).shape == (1, 4, 16)
    with pytest.raises(InputError, match=r"longer than the 4 positions(.|\n)*found: position 4"):
        layer(torch.full((1, 5), 5), torch.arange(5))


def test_a_table_can_be_shared() -> None:
    first = Embedding(transformer(), 19, scaled=True)
    second = Embedding(transformer(), 19, scaled=True, table=first.table)
    assert second.table is first.table


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_the_output_is_the_table_or_a_matrix_of_its_own(tied: bool, bias: bool) -> None:
    table = nn.Embedding(19, 16).double()
    layer = settled(Output(16, 19, tied=tied, bias=bias).double())
    x = drawn(2, 3, 16)
    matrix = table.weight if tied else layer.linear.weight
    expected = torch.einsum("bnd,vd->bnv", x, matrix) + (layer.bias if bias else 0.0)
    near(layer(x, table), expected)
    assert sum(p.numel() for p in layer.parameters()) == (0 if tied else 16 * 19) + 19 * bias


# Activations, feed-forward, residual

FORMULAS: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "tanh": math.tanh,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_their_formulas(name: str) -> None:
    x = torch.linspace(-4, 4, 41, dtype=torch.float64)
    near(ACTIVATIONS[name](x), torch.tensor([FORMULAS[name](v) for v in x.tolist()], dtype=torch.float64))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_feed_forward_layer_is_its_formula(name: str) -> None:
    layer = settled(FeedForward(transformer(activation=name)).double())
    x = drawn(2, 3, 16)
    inner = ACTIVATIONS[name](x @ layer.up.weight.T + layer.up.bias)
    near(layer(x), inner @ layer.down.weight.T + layer.down.bias, sums=2)


def normed(x: Tensor, norm: nn.LayerNorm, epsilon: float) -> Tensor:
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / (variance + epsilon).sqrt() * norm.weight + norm.bias


@pytest.mark.parametrize("epsilon", [1e-5, 0.3])
def test_the_norm_comes_after_the_sum_as_in_the_paper_or_before(epsilon: float) -> None:
    x, double = drawn(2, 3, 16), lambda y: 2 * y
    after = settled(Residual(transformer(norm="post", epsilon=epsilon)).double())
    near(after(x, double), normed(3 * x, after.norm, epsilon), sums=2)
    before = settled(Residual(transformer(norm="pre", epsilon=epsilon)).double())
    near(before(x, double), x + 2 * normed(x, before.norm, epsilon), sums=2)


def test_a_final_norm_only_where_the_norms_come_first() -> None:
    assert isinstance(final_norm(transformer(norm="pre")), nn.LayerNorm)
    assert isinstance(final_norm(transformer(norm="post")), nn.Identity)


# Heads and masks


def test_split_and_join_are_inverse_and_heads_are_neighbouring_dims() -> None:
    x = drawn(2, 5, 12)
    heads = split(x, 3)
    assert heads.shape == (2, 3, 5, 4)
    assert torch.equal(heads[:, 1], x[..., 4:8])
    assert torch.equal(join(heads), x)


def test_a_mask_of_keys_is_for_every_head_and_query() -> None:
    mask = torch.tensor([[True, False]])
    assert key_mask(None) is None
    assert key_mask(mask).shape == (1, 1, 1, 2)


# Attention against torch.nn.MultiheadAttention


def peer_of(layer: SelfAttention | CrossAttention, dim: int, heads: int, dtype: torch.dtype) -> nn.MultiheadAttention:
    """Torch's layer with our weights."""
    peer = nn.MultiheadAttention(dim, heads, batch_first=True, dtype=dtype)
    parts = [layer.qkv] if isinstance(layer, SelfAttention) else [layer.q, layer.kv]
    with torch.no_grad():
        peer.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        peer.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        peer.out_proj.load_state_dict(layer.out.state_dict())
    return peer


PADDING = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]


@PRECISIONS
@pytest.mark.parametrize("heads", [1, 2, 8])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_torchs(dtype: torch.dtype, heads: int, padded: bool, causal: bool) -> None:
    layer = settled(SelfAttention(transformer(heads=heads), "here", causal=causal)).to(dtype)
    x = drawn(3, 7, 16, dtype=dtype)
    future = torch.ones(7, 7).triu(1).bool() if causal else None
    expected, _ = peer_of(layer, 16, heads, dtype)(
        x, x, x, key_padding_mask=~PADDING if padded else None, attn_mask=future, need_weights=False
    )
    near(layer(x, key_mask(PADDING) if padded else None, None), expected, ATTENDING)


@PRECISIONS
@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("padded", [False, True])
def test_cross_attention_is_torchs(dtype: torch.dtype, heads: int, padded: bool) -> None:
    layer = settled(CrossAttention(transformer(heads=heads), "here")).to(dtype)
    x, memory = drawn(3, 4, 16, dtype=dtype), drawn(3, 7, 16, dtype=dtype, seed=1)
    expected, _ = peer_of(layer, 16, heads, dtype)(
        x, memory, memory, key_padding_mask=~PADDING if padded else None, need_weights=False
    )
    near(layer(x, memory, key_mask(PADDING) if padded else None, None), expected, ATTENDING)


@pytest.mark.parametrize("training", [True, False])
def test_attention_asks_for_dropout_of_weights_in_training_only(training: bool) -> None:
    asked: list[Any] = []

    def hook(site: str, attend: Any, *inputs: Tensor, **options: Any) -> Tensor:
        asked.append((site, options["dropout"]))
        return attend(*inputs, **options)

    config, x = transformer(attention_dropout=0.25), drawn(1, 3, 16, dtype=torch.float32)
    own, cross = SelfAttention(config, "own", causal=True), CrossAttention(config, "cross")
    with own.train(training).seam.hooked(hook), cross.train(training).seam.hooked(hook):
        own(x, None, None)
        cross(x, x, None, None)
    assert asked == [("own", 0.25 * training), ("cross", 0.25 * training)]


# Fresh weights


@pytest.mark.parametrize("make", [transformer, decoder, encoder])
def test_fresh_weights_are_xaviers_and_embeddings_small(make: Any) -> None:
    torch.manual_seed(0)
    changes = {"source_vocabulary": 2000, "target_vocabulary": 2000} if make is transformer else {"vocabulary": 2000}
    model = build(make(dim=64, feedforward=128, **changes))
    for part in model.modules():
        if isinstance(part, nn.Linear):
            bound = math.sqrt(6 / (part.in_features + part.out_features))
            assert 0.8 * bound < part.weight.abs().max() <= bound
            assert part.bias is None or not part.bias.any()
        elif isinstance(part, nn.Embedding) and part.num_embeddings == 2000:
            assert part.weight.std().item() == pytest.approx(64**-0.5, rel=0.02)
