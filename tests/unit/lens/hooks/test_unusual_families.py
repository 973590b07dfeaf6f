"""Families beyond the first table: each held for one thing that it does differently, or refused by name."""

from __future__ import annotations

import copy
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import regard
from benchmarks import watch_matrix as matrix
from benchmarks import watch_more
from benchmarks.dense import Kept
from benchmarks.zoo import ALSO_REFUSED, GROUPED, LATENT, MODELS, MORE, make
from regard.errors import InputError
from regard.lens.hooks import hold
from regard.lens.hooks import lazy_mask as lazy
from regard.lens.hooks.implementation_name import NAME, Name, usual
from regard.lens.hooks.lazy_mask import LazyMask
from regard.lens.hooks.module_stack import looks_like_attention
from tests.bounds import small_apart

IDS = torch.tensor([[7, 8, 9, 10, 11, 12, 13]])
DIFFERENT = {
    "DeepSeek-V3": "values of another dim than keys",
    "DeepSeek-V3.2, sparse": "asks its config by name how to build its mask",
    "Falcon": "not on the interface; its masks hide what a static cache has not written",
    "Doge, its own mask": "adds numbers of its own to each step's mask",
    "Llama4, chunks": "masks that no window tells",
    "Qwen3-Next, hybrid": "layers without attention between those with it",
    "MiniMax, hybrid": "layers called attention that have no weights",
    "BERT to GPT-2": "a mask for one token beside a longer cache",
    "UMT5": "another position bias in every layer",
    "ALBERT": "one layer used again and again",
    "Swin": "windows of a picture as texts",
}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """What transformers warns of is not about us."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", DIFFERENT)
def test_every_cell(name: str) -> None:
    cells = watch_more.cells(name)
    assert ("plain", "forward") in cells
    assert {cell: worst for cell, worst in cells.items() if not worst <= small_apart()} == {}


@pytest.mark.parametrize("name", ["GPT-J", "XLNet", "Longformer"])
def test_others_are_refused_by_name(name: str) -> None:
    said = matrix.refusal(name)
    assert "computes attention itself" in said
    assert "ttention)" in said


def test_a_model_without_attention_is_refused() -> None:
    assert "no attention of MambaForCausalLM came through" in matrix.refusal("Mamba")


def test_the_zoo_is_one() -> None:
    assert not set(MORE) & (set(MODELS) | set(ALSO_REFUSED))
    assert set(DIFFERENT) <= set(MORE)


# The name


def test_a_name_is_found_as_ours_and_answers_to_the_one_before() -> None:
    for before, other in (("eager", "sdpa"), ("sdpa", "eager"), ("flash_attention_2", "eager")):
        config = SimpleNamespace(_attn_implementation=before, _attn_implementation_internal=before)
        name = Name.of(config)
        assert {NAME: 1}[name] == 1
        assert name == NAME
        assert name in ("eager", "sdpa")
        assert name != other
        assert "flash" not in name
        assert usual(SimpleNamespace(_attn_implementation=name)) == before
        assert type(copy.deepcopy(name)) is str
        assert copy.deepcopy(name) == before


def test_the_config_is_let_go_by_the_last_whatever_the_order() -> None:
    model = MODELS["GPT-2"]()
    one, other = hold(model, Kept()), hold(model, Kept())
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    kept = Kept()
    with torch.no_grad(), hold(model, kept):
        model(IDS)
    assert len(kept.seen) == 2
    assert isinstance(model.config._attn_implementation, Name)
    other.__exit__(None, None, None)
    assert type(model.config._attn_implementation) is str
    assert not {"forward", "generate"} & set(model.__dict__)
    assert torch.backends.mha.get_fastpath_enabled()


# Masks


def test_a_mask_is_drawn_as_the_implementation_before_would_have_it() -> None:
    eager, fused = (SimpleNamespace(_attn_implementation=name) for name in ("eager", "sdpa"))
    numbers = lazy.lazy_mask(1, 3, 3, dtype=torch.float16, config=eager)
    assert numbers.dtype == torch.float16
    assert torch.equal((numbers + 0) == 0, torch.ones(1, 1, 3, 3).tril().bool())
    assert float((numbers + 0).min()) == torch.finfo(torch.float16).min
    assert lazy.lazy_mask(1, 3, 3, dtype=torch.float16, config=fused).dtype == torch.bool


def test_a_model_that_adds_to_eager_masks_gets_numbers() -> None:
    """DeepSeek-V4 joins a bias of its own to the mask: booleans there would show what is to be hidden."""
    sizes = {
        **{name: LATENT[name] for name in LATENT if name not in ("first_k_dense_replace", "kv_lora_rank")},
        "num_key_value_heads": 1, "sliding_window": 4, "head_dim": 8, "o_lora_rank": 8, "o_groups": 2,
        "index_topk": 4, "index_n_heads": 2, "index_head_dim": 8, "num_experts_per_tok": 2, "hc_mult": 2,
        "layer_types": ["sliding_attention", "heavily_compressed_attention"],
        "compress_rates": {"heavily_compressed_attention": 4, "compressed_sparse_attention": 2},
    }  # fmt: skip
    model = make("DeepseekV4ForCausalLM", "DeepseekV4Config", sizes)
    with torch.no_grad():
        expected = model(IDS).logits
        with hold(model, kept := Kept()):
            found = model(IDS).logits
    torch.testing.assert_close(found, expected, atol=small_apart(expected), rtol=0)
    assert len(kept.seen) == 2


def test_a_mask_over_indices_can_be_drawn_in_the_midst_of_a_calculation() -> None:
    mask = lazy.lazy_mask(1, 3, 3, mask_function=lambda b, h, q, k: (q - k).abs() <= 1, use_vmap=True)
    assert isinstance(mask, LazyMask)
    assert mask.shape == (1, 1, 3, 3)
    expected = torch.tensor([[1, 1, 0], [1, 1, 1], [0, 1, 1]]).bool()
    assert torch.equal((mask & True)[0, 0], expected)
    assert torch.equal(mask[:, :, :2][0, 0], expected[:2])
    assert torch.equal(torch.zeros(3, 3).masked_fill(mask, 1.0)[0, 0].bool(), expected)


# What counts as attention


class Handmade(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


@pytest.mark.parametrize(
    ("name", "counts"),
    [("SelfAttention", True), ("BertSdpaSelfAttention", True), ("MHA", True), ("CausalSelfAttn", True)]
    + [(name, False) for name in ("Flatten", "AttentionOutput", "LinearAttention", "LightningAttention", "Mamba2Mixer")]
    + [(name, False) for name in ("GatedDeltaNet", "KimiDeltaAttention", "OlmoHybridLinearAttentionDecoderLayer")],
)
def test_which_modules_should_have_weights(name: str, counts: bool) -> None:
    assert looks_like_attention(type(name, (Handmade,), {})()) is counts


def test_a_model_that_flattens_is_none_that_hides() -> None:
    model = nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(24, 2)).eval()
    with torch.no_grad(), regard.watch(model) as seen:
        model(torch.randn(2, 3, 8))
    assert seen.sites == ["0.self_attn"]


# Steps that make no one map


def test_without_a_cache_cross_attention_is_the_last_reading() -> None:
    model, given = MODELS["Marian"](), matrix.inputs(MODELS["Marian"](), "right")
    maps = []
    for cached in (True, False):
        with torch.no_grad(), regard.watch(model) as seen:
            model.generate(**given, max_new_tokens=5, do_sample=False, use_cache=cached)
        assert seen.badge.true
        maps.append([seen.weights(site, 1, batch=1) for site in seen.sites])
    for one, other in zip(*maps, strict=True):
        torch.testing.assert_close(one, other, atol=small_apart(), rtol=0)


def test_keys_that_change_from_step_to_step_are_refused() -> None:
    """T5Gemma2 looks at both texts at once: what it wrote grows in the midst of its keys."""
    sizes = {name: value for name, value in GROUPED.items() if name not in ("bos_token_id", "eos_token_id")}
    sizes |= {"layer_types": ["full_attention", "full_attention"], "sliding_window": 4, "query_pre_attn_scalar": 4}
    picture = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
               "image_size": 16, "patch_size": 8, "vision_use_head": False}  # fmt: skip
    both = {"encoder": {"text_config": sizes, "vision_config": picture}, "decoder": sizes}
    model = make("T5Gemma2ForConditionalGeneration", "T5Gemma2Config", both)
    with torch.no_grad(), regard.watch(model) as seen:
        model(IDS, decoder_input_ids=IDS[:, :3])
    assert seen.badge.true
    with torch.no_grad(), pytest.raises(InputError, match="do not go on from each other"), regard.watch(model):
        model.generate(IDS, max_new_tokens=4, eos_token_id=None, decoder_start_token_id=2, pad_token_id=0)
