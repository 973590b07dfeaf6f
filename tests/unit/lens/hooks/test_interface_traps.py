"""The traps of Hugging Face's attention interface, each with the model that falls into it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks import peers
from benchmarks import watch_matrix as matrix
from benchmarks.dense import Kept, dense
from benchmarks.zoo import GROUPED, MODELS, REFUSED, SMALL, make
from regard.errors import InputError
from regard.lens.hooks import attention_interface as interface
from regard.lens.hooks import hold
from regard.lens.hooks import lazy_mask as lazy
from regard.lens.hooks.lazy_mask import LazyMask
from tests.bounds import small_apart


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def watched(model: Any, way: str = "forward", padding: str = "left", **more: Any) -> tuple[Any, Kept]:
    kept = Kept()
    with torch.no_grad(), hold(model, kept):
        return matrix.ran(model, {**matrix.inputs(model, padding), **more}, way), kept


def longer(model: Any, ids: Tensor, **more: Any) -> tuple[Tensor, Tensor, Kept]:
    """The logits without and with being held."""
    kept = Kept()
    with torch.no_grad():
        expected = model(ids, **more).logits
        with hold(model, kept):
            return expected, model(ids, **more).logits, kept


def test_1_padding_arrives_and_is_one_row_of_keys() -> None:
    _, kept = watched(MODELS["Llama, grouped heads"]())
    for seen in kept.seen:
        assert seen.options["mask"].shape == (2, 1, 1, 7)
        assert seen.options["mask"][:, 0, 0].tolist() == [[True] * 7, [False] * 3 + [True] * 4]
        assert seen.key.shape[1] < seen.query.shape[1]


def test_1_no_mask_is_ever_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(_: Any) -> Tensor:
        raise AssertionError("a mask of queries x keys")

    monkeypatch.setattr(lazy.Order, "drawn", drawn)
    for name in MODELS:
        model = MODELS[name]()
        for padding in ("plain", "left", "right"):
            for way in matrix.WAYS:
                if matrix.sensible(model, padding, way):
                    _, kept = watched(model, way, padding)
                    masks = [seen.options.get("mask") for seen in kept.seen]
                    assert all(mask is None or mask.shape[1:3] == (1, 1) for mask in masks), name


def test_2_weights_are_given_to_those_whom_eager_would_give_them() -> None:
    model, ids = MODELS["Mistral, window"](), torch.tensor([[7, 8, 9, 10, 11, 12]])
    model.set_attn_implementation("eager")
    model.config.output_attentions = True
    with torch.no_grad():
        expected = model(ids).attentions
        with hold(model, Kept()):
            found, again = model(ids).attentions, model(ids, output_attentions=True).attentions
    torch.testing.assert_close(found, expected, atol=small_apart(), rtol=0)
    torch.testing.assert_close(again, expected, atol=small_apart(), rtol=0)
    model.config.output_attentions = False
    model.set_attn_implementation("sdpa")
    with torch.no_grad(), hold(model, Kept()):
        assert not model(ids, output_attentions=True).attentions  # as without us


def test_3_the_name_is_no_kernels_and_is_not_left_behind() -> None:
    assert "flash" not in interface.NAME
    assert "/" not in interface.NAME
    model = peers.gpt2()
    watched(model)
    assert type(model.config._attn_implementation) is str
    assert model.config._attn_implementation == "sdpa"


def test_4_what_does_not_come_through_is_refused_at_the_first_forward_of_generate() -> None:
    model, forwards = REFUSED["BLOOM"](), []
    model.register_forward_pre_hook(lambda *_: forwards.append(1))
    with pytest.raises(InputError, match=r"transformer\.h\.0\.self_attention"), hold(model, Kept()):
        model.generate(torch.tensor([[7, 8, 9]]), max_new_tokens=5)
    assert len(forwards) == 1


@pytest.mark.parametrize("name", ["Marian", "Whisper", "ViT", "T5", "CLIP"])
def test_5_sites_are_the_names_of_modules(name: str) -> None:
    model = MODELS[name]()
    _, kept = watched(model, padding="plain")
    sites = [seen.site for seen in kept.seen]
    assert len(set(sites)) == len(sites)
    assert set(sites) <= set(dict(model.named_modules()))


def test_5_a_layer_used_twice_is_told_twice() -> None:
    model = make("AlbertModel", "AlbertConfig", {**SMALL, "embedding_size": 8})
    kept = Kept()
    with torch.no_grad(), hold(model, kept):
        model(torch.tensor([[7, 8, 9]]))
    assert len(kept.seen) == 2
    assert kept.seen[0].site == kept.seen[1].site


def test_6_scale_and_position_bias_of_t5() -> None:
    _, kept = watched(MODELS["T5"]())
    assert {seen.options["scale"] for seen in kept.seen} == {1.0}
    for seen in kept.seen:
        assert (seen.options.get("bias") is None) is ("EncDecAttention" in seen.site)


def test_7_sinks_take_part() -> None:
    _, kept = watched(MODELS["GPT-OSS, sinks"](), padding="plain")
    for seen in kept.seen:
        weights, _ = dense(seen)
        assert seen.options["sinks"].shape == (4,)
        assert float(weights.sum(-1).max()) < 1


@pytest.mark.parametrize("name", ["Llama, grouped heads", "Gemma2, softcap", "Marian"])
def test_8_a_static_cache_shows_what_a_growing_one_shows(name: str) -> None:
    _, static = watched(MODELS[name](), "static cache")
    _, dynamic = watched(MODELS[name](), "generate")
    assert len(static.seen) == len(dynamic.seen)
    for one, other in zip(static.seen, dynamic.seen, strict=True):
        assert (one.site, one.first_key, one.key.shape) == (other.site, other.first_key, other.key.shape)
        torch.testing.assert_close(dense(one)[0], dense(other)[0], atol=small_apart(), rtol=0)


def test_9_the_window_is_applied_once() -> None:
    _, kept = watched(MODELS["Mistral, window"](), padding="plain")
    assert {seen.options["window"] for seen in kept.seen} == {(3, 0)}  # theirs of 4 counts the token itself


@pytest.mark.parametrize("reentrant", [True, False])
def test_10_checkpointed_layers_are_seen_once(reentrant: bool) -> None:
    model = peers.gpt2(attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0).train()
    ids = torch.tensor([[7, 8, 9, 10]])
    model(ids, labels=ids).loss.backward()
    expected = model.transformer.h[0].attn.c_attn.weight.grad.clone()
    model.zero_grad()
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    kept = Kept()
    with hold(model, kept):
        model(ids, labels=ids).loss.backward()
    assert len(kept.seen) == 2
    assert [told[0] for told in kept.told] == ["begin", "see", "see", "end"]
    found = model.transformer.h[0].attn.c_attn.weight.grad
    torch.testing.assert_close(found, expected, atol=small_apart(expected), rtol=0)


def test_11_a_sliding_cache_says_where_its_keys_begin() -> None:
    _, kept = watched(MODELS["Mistral, window"](), "generate", "plain")
    first = [seen for seen in kept.seen if seen.site == "model.layers.0.self_attn"]
    assert [(seen.first_key, seen.key.shape[-2]) for seen in first] == [(0, 7), (4, 4), (5, 4), (6, 4)]


def test_packed_texts_do_not_see_each_other() -> None:
    places = torch.tensor([[0, 1, 2, 0, 1, 2, 3]])
    ids = torch.tensor([[7, 8, 9, 10, 11, 12, 13]])
    expected, found, kept = longer(MODELS["Llama, grouped heads"](), ids, position_ids=places, use_cache=False)
    torch.testing.assert_close(found, expected, atol=small_apart(expected), rtol=0)
    assert not dense(kept.seen[0])[0][0, :, 3:, :3].any()


def test_chunks_are_worked_out_up_to_a_size_and_refused_by_name_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {**GROUPED, "num_hidden_layers": 4, "num_local_experts": 2, "intermediate_size_mlp": 32}
    model = make("Llama4ForCausalLM", "Llama4TextConfig", {**sizes, "attention_chunk_size": 3})
    expected, found, _ = longer(model, torch.arange(7, 14)[None])
    torch.testing.assert_close(found, expected, atol=small_apart(expected), rtol=0)
    _, _, kept = longer(model, torch.arange(7, 10)[None])
    assert all(seen.options["mask"] is None for seen in kept.seen)  # all in one chunk
    monkeypatch.setattr(lazy, "LARGEST", 10)
    with pytest.raises(InputError, match="chunked_overlay"):
        longer(model, torch.arange(7, 14)[None])


@pytest.mark.parametrize("additive", [True, False])
def test_a_mask_drawn_by_the_user_is_taken_as_it_is(additive: bool) -> None:
    drawn = torch.ones(6, 6).tril().bool()
    drawn[4, 1] = False
    mask: Tensor = drawn[None, None]
    if additive:
        mask = torch.where(mask, 0.0, torch.finfo(torch.float32).min)
    expected, found, kept = longer(MODELS["Llama, grouped heads"](), torch.arange(7, 13)[None], attention_mask=mask)
    torch.testing.assert_close(found, expected, atol=small_apart(expected), rtol=0)
    assert torch.equal(dense(kept.seen[0])[0][0, 0] > 0, drawn)


def test_a_model_that_calculates_with_its_mask_gets_a_true_one() -> None:
    model = make("DogeForCausalLM", "DogeConfig", {**SMALL, "num_key_value_heads": 2})
    given = matrix.inputs(model, "right")
    expected, found, _ = longer(model, given["input_ids"], attention_mask=given["attention_mask"])
    real = given["attention_mask"].bool()
    torch.testing.assert_close(found[real], expected[real], atol=small_apart(expected), rtol=0)


def test_a_lazy_mask_is_a_tensor_without_storage() -> None:
    mask = lazy.lazy_mask(2, 1_000_000, 1_000_000)
    assert isinstance(mask, LazyMask)
    assert (mask.shape, mask.ndim, mask.dtype) == ((2, 1, 1_000_000, 1_000_000), 4, torch.bool)
    assert mask.contiguous() is mask
    assert isinstance(mask.detach(), LazyMask)
    assert repr(mask).startswith("LazyMask")
    with pytest.raises(InputError, match="too large"):
        mask.any()
    small = lazy.lazy_mask(1, 3, 3)
    assert torch.equal(small & True, torch.ones(1, 1, 3, 3).tril().bool())


def test_paged_caches_are_refused_by_name() -> None:
    with pytest.raises(InputError, match="argument 'cache'"):
        interface.attention(torch.nn.Linear(2, 2), torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2),
                            torch.ones(1, 1, 2, 2), None, cache=object())  # fmt: skip
