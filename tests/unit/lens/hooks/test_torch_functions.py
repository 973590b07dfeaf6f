"""Plain PyTorch models, and models of Hugging Face that are not on its interface, held at PyTorch's own functions."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks import watch_matrix as matrix
from benchmarks.dense import Kept, dense
from benchmarks.zoo import make
from regard.errors import InputError
from regard.lens.hooks import hold
from tests.bounds import small_apart

X = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(3))
PADDED = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])


class Block(nn.Module):
    """A layer as people write it."""

    def __init__(self, causal: bool = True) -> None:
        super().__init__()
        self.qkv, self.causal = nn.Linear(16, 48), causal

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(x).unflatten(-1, (3, 4, 4)).transpose(1, 3).unbind(2)
        return F.scaled_dot_product_attention(query, key, value, is_causal=self.causal).transpose(1, 2).flatten(2)


def watched(model: nn.Module, *args: Any, **kwargs: Any) -> tuple[Any, Kept]:
    kept = Kept()
    with torch.no_grad(), hold(model, kept):
        return model(*args, **kwargs), kept


def unwatched(model: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """What the model gives by itself: its own fast path uses nested tensors, and warns of them."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The PyTorch API of nested tensors")
        return model(*args, **kwargs)


def assert_true(kept: Kept) -> None:
    """The recorded weights times the values are the recorded output."""
    for seen in kept.seen:
        weights, _ = dense(seen)
        group = seen.query.shape[1] // seen.key.shape[1]
        mixed = weights @ seen.value.double().repeat_interleave(group, 1)
        torch.testing.assert_close(mixed, seen.output.double(), atol=small_apart(seen.output), rtol=0)


@pytest.mark.parametrize("causal", [True, False])
def test_a_plain_model_by_the_name_of_its_innermost_module(causal: bool) -> None:
    model = nn.Sequential(Block(causal), nn.Linear(16, 16), Block(causal)).eval()
    output, kept = watched(model, X)
    assert torch.equal(output, model(X))
    assert [seen.site for seen in kept.seen] == ["0", "2"]
    assert all(seen.options.get("causal", False) is causal for seen in kept.seen)
    assert_true(kept)


def test_the_model_itself_goes_by_its_class() -> None:
    _, kept = watched(Block(), X)
    assert [seen.site for seen in kept.seen] == ["Block"]


def test_queries_without_heads_and_with_more_dims() -> None:
    class Odd(nn.Module):
        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    flat, kept = watched(Odd(), X, torch.ones(5, 5).tril().bool())
    assert flat.shape == X.shape
    deep, more = watched(Odd(), X.expand(3, 2, 2, 5, 16), torch.ones(2, 1, 1, 5).bool())
    assert deep.shape == (3, 2, 2, 5, 16)
    assert kept.seen[0].query.shape == (2, 1, 5, 16)
    assert more.seen[0].query.shape == (6, 2, 5, 16)
    assert_true(kept)
    assert_true(more)


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("batched", [True, False])
def test_multihead_attention_still_gives_its_weights(averaged: bool, batched: bool) -> None:
    model = nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = X if batched else X[0]
    padded = PADDED if batched else PADDED[0]
    with torch.no_grad():
        expected, weights = model(x, x, x, key_padding_mask=padded, average_attn_weights=averaged)
    (output, found), kept = watched(model, x, x, x, key_padding_mask=padded, average_attn_weights=averaged)
    torch.testing.assert_close(output, expected, atol=small_apart(expected), rtol=0)
    torch.testing.assert_close(found, weights, atol=small_apart(), rtol=0)
    assert [seen.site for seen in kept.seen] == ["MultiheadAttention"]
    assert_true(kept)


def test_the_fast_path_of_an_encoder_is_left_and_taken_again() -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    expected = unwatched(model, X, src_key_padding_mask=PADDED)
    output, kept = watched(model, X, src_key_padding_mask=PADDED)
    torch.testing.assert_close(output[~PADDED], expected[~PADDED], atol=small_apart(expected), rtol=0)
    assert [seen.site for seen in kept.seen] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert kept.seen[0].options["mask"].shape == (2, 1, 1, 5)
    assert torch.backends.mha.get_fastpath_enabled()
    assert_true(kept)


@pytest.mark.parametrize("training", [True, False])
def test_a_whole_transformer(training: bool) -> None:
    model = nn.Transformer(16, 4, 1, 2, 32, dropout=0.0, batch_first=True).train(training)
    hidden = nn.Transformer.generate_square_subsequent_mask(5)
    output, kept = watched(model, X, X, tgt_mask=hidden, src_key_padding_mask=PADDED, memory_key_padding_mask=PADDED)
    expected = unwatched(model, X, X, tgt_mask=hidden, src_key_padding_mask=PADDED, memory_key_padding_mask=PADDED)
    torch.testing.assert_close(output, expected, atol=small_apart(expected), rtol=0)
    assert [seen.site for seen in kept.seen] == [
        "encoder.layers.0.self_attn",
        *(f"decoder.layers.{layer}.{kind}" for layer in range(2) for kind in ("self_attn", "multihead_attn")),
    ]
    assert_true(kept)


def test_nested_holds_of_a_plain_model() -> None:
    model, outer, inner = nn.MultiheadAttention(16, 4, batch_first=True).eval(), Kept(), Kept()
    with torch.no_grad(), hold(model, outer), hold(model, inner):
        _, weights = model(X, X, X)
    assert weights.shape == (2, 5, 5)
    assert (len(outer.seen), len(inner.seen)) == (1, 1)


def test_a_hook_on_a_plain_model() -> None:
    def last_only(site: str, following: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        return following(query, key, value, **{**options, "window": (0, 0)})

    model = Block()
    with torch.no_grad(), hold(model, hook=last_only):
        output = model(X)
    value = model.qkv(X).unflatten(-1, (3, 4, 4)).transpose(1, 3)[:, :, 2]
    torch.testing.assert_close(output, value.transpose(1, 2).flatten(2))


def test_what_is_called_beside_the_model_is_not_recorded() -> None:
    model, other, kept = Block(), Block(), Kept()
    with torch.no_grad(), hold(model, kept):
        other(X)
        model(X)
    assert len(kept.seen) == 1


def test_gradients_flow_through_a_plain_model() -> None:
    model = Block()
    model(X).square().sum().backward()
    expected = model.qkv.weight.grad.clone()
    model.zero_grad()
    with hold(model, Kept()):
        model(X).square().sum().backward()
    torch.testing.assert_close(model.qkv.weight.grad, expected, atol=small_apart(expected), rtol=0)


def test_falcon_is_held_though_it_is_not_on_the_interface() -> None:
    sizes = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "pad_token_id": 0}
    model = make("FalconForCausalLM", "FalconConfig", sizes)
    given = matrix.inputs(model, "left")
    with torch.no_grad():
        expected = model(**given).logits
    output, kept = watched(model, **given)
    assert torch.equal(output.logits, expected)
    assert [seen.site for seen in kept.seen] == [f"transformer.h.{layer}.self_attention" for layer in range(2)]
    assert model.config._attn_implementation == "sdpa"


def test_a_layer_that_multiplies_by_itself_is_refused_by_name() -> None:
    class HandmadeAttention(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x @ x.mT).softmax(-1) @ x

    model = nn.Sequential(Block(), HandmadeAttention())
    with pytest.raises(InputError, match=r"no attention came through from 1 \(HandmadeAttention\)"):
        watched(model, X)
