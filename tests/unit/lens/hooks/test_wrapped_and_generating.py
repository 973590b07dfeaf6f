"""However a model is wrapped, called or made to write: the same weights, or a refusal that says why."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import regard
from benchmarks import peers
from benchmarks.zoo import MODELS, SMALL, make
from regard.errors import InputError
from regard.lens.recording_api import Recording
from tests.bounds import small_apart
from tests.threads import in_a_thread

IDS = torch.tensor([[7, 8, 9, 10, 11]])
SITES = ["model.layers.0.self_attn", "model.layers.1.self_attn"]


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def llama() -> Any:
    return MODELS["Llama, grouped heads"]()


def eager(model: Any, ids: Tensor = IDS) -> tuple[Tensor, ...]:
    """The weights that eager attention gives for one text."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        found: tuple[Tensor, ...] = model(ids, output_attentions=True).attentions
    model.set_attn_implementation(before)
    return found


def assert_same(seen: Recording, expected: tuple[Tensor, ...]) -> None:
    assert seen.badge.true, str(seen.badge)
    for site, weights in zip(seen.sites, expected, strict=True):
        for head in range(weights.shape[1]):
            found = seen.weights(site, head).double()
            torch.testing.assert_close(found, weights[0, head].double(), atol=small_apart(), rtol=0)


# Wrappers


class Wrapper(nn.Module):
    """Holds a model and hands everything on, as adapters do."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.base = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.base(*args, **kwargs)

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        return self.base.generate(*args, **kwargs)


class Reaching(Wrapper):
    """Has all that the model within has."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("base"), name)


@pytest.mark.parametrize("wrap", [Wrapper, Reaching, nn.DataParallel])
def test_a_wrapped_model(wrap: Callable[[Any], nn.Module]) -> None:
    model = llama()
    wrapper = wrap(model)
    with torch.no_grad(), regard.watch(wrapper) as seen:
        wrapper(IDS)
    assert_same(seen, eager(model))
    assert [site.removeprefix("base.").removeprefix("module.") for site in seen.sites] == SITES
    assert seen.tokens == IDS[0].tolist()
    with torch.no_grad(), regard.watch(wrapper) as seen:
        model(input_ids=IDS)  # what is within, called by itself
    assert_same(seen, eager(model))
    assert seen.tokens == IDS[0].tolist()


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("wrap", [Wrapper, Reaching])
def test_a_wrapped_model_writes(wrap: Callable[[Any], Any], beams: int) -> None:
    model = llama()
    with torch.no_grad(), regard.watch(wrap(model)) as seen:
        found = wrap(model).generate(IDS, max_new_tokens=4, do_sample=False, num_beams=beams)
    assert len(seen.calls) == 1
    assert seen.tokens == found[0, :-1].tolist()
    assert_same(seen, eager(model, found[:, :-1]))


def test_a_mask_is_not_taken_for_the_text() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(20, 8)
            self.layer = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)

        def forward(self, padding_mask: Tensor, words: Tensor) -> Tensor:
            done: Tensor = self.layer(self.table(words), src_key_padding_mask=padding_mask == 0)
            return done

    with torch.no_grad(), regard.watch(model := Layer().eval()) as seen:
        model(torch.ones_like(IDS), IDS)
    assert seen.tokens == IDS[0].tolist()


@pytest.mark.parametrize("part", ["model", "layer", "in place"])
def test_what_was_compiled_runs_as_it_was_written(part: str) -> None:
    model = called = llama()
    expected = eager(model)
    if part == "model":
        called = torch.compile(model, backend="eager")
    elif part == "layer":
        model.model.layers[0] = torch.compile(model.model.layers[0], backend="eager")
    else:
        model.compile(backend="eager")
    with torch.no_grad():
        before = called(IDS).logits
        with regard.watch(called) as seen:
            called(IDS)
        assert_same(seen, expected)
        assert seen.sites == SITES
        assert seen.tokens == IDS[0].tolist()
        assert torch.equal(called(IDS).logits, before)


# Numbers


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_dtypes(dtype: torch.dtype) -> None:
    model = llama().to(dtype)
    with torch.no_grad():
        before = model(IDS).logits
        with regard.watch(model) as seen:
            assert torch.equal(model(IDS).logits, before)
            model.generate(IDS, max_new_tokens=3, do_sample=False, num_beams=2)
    assert seen.badge.true, str(seen.badge)
    assert all(call.badge.true for call in seen.calls)
    assert seen.badge.dtype == str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("name", ["Llama, grouped heads", "GPT-2"])
def test_autocast_rounds_what_the_model_computes_and_not_what_we_do(name: str) -> None:
    model = MODELS[name]()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16), regard.watch(model) as seen:
        model(IDS)
    assert seen.badge.true, str(seen.badge)
    assert seen.badge.dtype == "bfloat16"
    assert seen.badge.row_sum <= small_apart()


def test_a_model_that_is_no_number_any_more_is_told_from_a_true_one() -> None:
    model = MODELS["Marian"]()
    with torch.no_grad():
        model.model.encoder.layers[0].self_attn.k_proj.weight.fill_(float("nan"))
        with regard.watch(model) as seen:
            model.generate(IDS, max_new_tokens=3, do_sample=False)
    assert not seen.badge.true
    assert seen.weights("model.decoder.layers.0.encoder_attn", 0).shape == (3, 5)


# Writing


def test_pipelines() -> None:
    import transformers

    model, tokenizer = peers.gpt2(), peers.tokenizer("gpt2")
    write = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer)
    plain = write("w1 w2 w3", max_new_tokens=4, do_sample=False)
    with regard.watch(model, tokenizer) as seen:
        assert write("w1 w2 w3", max_new_tokens=4, do_sample=False) == plain
    assert seen.tokens[:3] == ["w1", "w2", "w3"]
    assert len(seen.tokens) == 6
    assert seen.badge.true


@pytest.mark.parametrize(
    "way", [{"num_return_sequences": 3}, {"num_beams": 3, "num_return_sequences": 2}], ids=["drawn", "drawn beams"]
)
def test_texts_that_are_drawn(way: dict[str, Any]) -> None:
    model = peers.gpt2(eos_token_id=None)
    with torch.no_grad():
        with regard.watch(model) as seen:
            torch.manual_seed(3)
            found = model.generate(IDS, max_new_tokens=5, do_sample=True, **way)
        for number, text in enumerate(found):
            assert seen.last.text is not None
            assert seen.last.text.tokens(number) == text[:-1].tolist()
            for site, weights in zip(seen.sites, eager(model, text[None, :-1]), strict=True):
                torch.testing.assert_close(
                    seen.weights(site, 1, batch=number), weights[0, 1], atol=small_apart(), rtol=0
                )


def test_a_prompt_read_in_chunks_and_a_cache_that_goes_on() -> None:
    model = llama()
    with torch.no_grad(), regard.watch(model) as seen:
        found = model.generate(IDS, max_new_tokens=4, do_sample=False, prefill_chunk_size=2)
    assert seen.tokens == found[0, :-1].tolist()
    assert_same(seen, eager(model, found[:, :-1]))
    with torch.no_grad(), regard.watch(model) as seen:
        cache = model(IDS[:, :3]).past_key_values
        model(IDS[:, 3:], past_key_values=cache)
    assert [call.tokens for call in seen.calls] == [[7, 8, 9], [10, 11]]
    assert_same(seen, tuple(weights[:, :, 3:] for weights in eager(model)))


@pytest.mark.parametrize("way", ["assistant_model", "prompt_lookup_num_tokens", "guidance_scale", "paged"])
def test_ways_to_write_that_make_no_one_text_are_refused(way: str) -> None:
    model = peers.gpt2()
    given: dict[str, Any] = {
        "assistant_model": {"assistant_model": peers.gpt2(seed=1)},
        "prompt_lookup_num_tokens": {"prompt_lookup_num_tokens": 2},
        "guidance_scale": {"guidance_scale": 1.5},
        "paged": {"cache_implementation": "paged"},
    }[way]
    with pytest.raises(InputError, match="cannot be recorded") as error, regard.watch(model):
        model.generate(IDS, max_new_tokens=3, do_sample=False, **given)
    assert way in str(error.value)


def test_a_long_recording_is_heard_piece_by_piece() -> None:
    model = MODELS["Whisper"]()
    model.generation_config.no_timestamps_token_id = 30
    sound = torch.randn(1, 8, 60, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        plain = model.generate(sound, max_new_tokens=4, return_timestamps=True)
        with regard.watch(model) as seen:
            found = model.generate(sound, max_new_tokens=4, return_timestamps=True)
    assert torch.equal(found, plain)
    assert len(seen.calls) > 1
    for call in seen.calls:
        assert call.badge.true
        assert call.weights("model.encoder.layers.0.self_attn", 0).shape == (12, 12)
        assert len(call.weights("model.decoder.layers.0.encoder_attn", 0)) == len(call.tokens)


def test_a_model_that_lets_another_write() -> None:
    """BLIP-2 looks at a picture, and its language model writes."""
    picture = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
               "image_size": 16, "patch_size": 8}  # fmt: skip
    asking = {**SMALL, "encoder_hidden_size": 16, "num_hidden_layers": 1}
    words = {**SMALL, "model_type": "opt", "ffn_dim": 32, "word_embed_proj_dim": 16}
    model = make("Blip2ForConditionalGeneration", "Blip2Config", {
        "vision_config": picture, "qformer_config": asking, "text_config": words, "num_query_tokens": 2,
        "image_token_index": 39,
    })  # fmt: skip
    ids = torch.tensor([[39, 39, 7, 8]])
    with torch.no_grad(), regard.watch(model) as seen:
        found = model.generate(torch.randn(1, 3, 16, 16), ids, max_new_tokens=3, do_sample=False, num_beams=2)
    assert len(seen.calls) == 1
    assert seen.badge.true
    assert seen.weights("language_model.model.decoder.layers.1.self_attn", 3).shape == (6, 6)
    assert len(found[0]) == 7


# Threads


def test_a_model_may_run_in_another_thread() -> None:
    model = llama()
    with regard.watch(model) as seen:
        assert not in_a_thread(lambda: model.generate(IDS, max_new_tokens=3, do_sample=False, num_beams=2))
    assert len(seen.tokens) == 7
    assert seen.badge.true


def test_two_threads_at_once_are_refused() -> None:
    model = llama()
    failed: list[Exception] = []
    model.model.norm.register_forward_hook(lambda *_: failed.extend(in_a_thread(lambda: model(IDS))))
    with torch.no_grad(), regard.watch(model) as seen:
        model(IDS)
    assert len(failed) == 1
    assert "two threads" in str(failed[0])
    assert_same(seen, eager_without_hooks(model))


def eager_without_hooks(model: Any) -> tuple[Tensor, ...]:
    model.model.norm._forward_hooks.clear()
    return eager(model)


def test_two_models_at_once() -> None:
    one, other = llama(), peers.gpt2()
    with torch.no_grad(), regard.watch(one) as first, regard.watch(other) as second, regard.watch(one) as again:
        one(IDS)
        other(IDS)
    assert (len(first.calls), len(second.calls), len(again.calls)) == (1, 1, 1)
    assert first.sites == again.sites == SITES
    assert_same(first, eager(one))
    assert_same(second, eager(other))
