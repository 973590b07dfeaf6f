"""A held model gives what it gave, shows what eager attention shows, and is as it was afterwards."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks import peers
from benchmarks import watch_matrix as matrix
from benchmarks.dense import Kept
from benchmarks.zoo import MODELS, REFUSED
from regard.errors import InputError
from regard.lens.hooks import hold
from tests.bounds import small_apart

IDS = torch.tensor([[7, 8, 9, 10, 11], [0, 0, 12, 13, 14]])
REAL = (IDS != 0).long()


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """What transformers warns of is not about us."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", MODELS)
def test_every_cell_of_the_matrix(name: str) -> None:
    cells = list(matrix.cells(name))
    assert ("plain", "forward") in {cell[:2] for cell in cells}
    assert [cell for cell in cells if not cell[2] <= small_apart()] == []


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_compute_attention_themselves_are_refused_by_name(name: str) -> None:
    said = matrix.refusal(name)
    assert "computes attention itself" in said
    assert "0.self_attention (BloomAttention)" in said or "layer.0.attention (DebertaV2Attention)" in said


@pytest.mark.parametrize("name", ["GPT-2", "Llama, grouped heads", "Mistral, window", "BERT", "Marian", "T5"])
def test_outputs_are_those_of_sdpa(name: str) -> None:
    model = MODELS[name]()
    given = matrix.inputs(model, "left")
    with torch.no_grad():
        expected = matrix.ran(model, given, "forward").logits
        with hold(model, Kept()):
            found = matrix.ran(model, given, "forward").logits
    assert_near(found, expected, given["attention_mask"])


def assert_near(one: Tensor, other: Tensor, real: Tensor) -> None:
    if one.shape[:2] == real.shape:
        one, other = one[real.bool()], other[real.bool()]
    torch.testing.assert_close(one, other, atol=small_apart(other), rtol=0)


def test_everything_is_put_back() -> None:
    model = MODELS["CLIP"]()
    model.set_attn_implementation({"vision_config": "eager", "text_config": "sdpa"})
    before = state(model)
    with hold(model, Kept()):
        assert model.config.text_config._attn_implementation == "regard"
        assert state(model) != before
    assert state(model) == before


def test_everything_is_put_back_after_an_exception() -> None:
    model = MODELS["Marian"]()
    before = state(model)
    kept = Kept()
    with pytest.raises(IndexError), hold(model, kept):
        model(torch.tensor([[peers.VOCABULARY + 7]]), decoder_input_ids=IDS)
    assert state(model) == before
    assert [told[0] for told in kept.told] == ["begin", "end"]
    with hold(model, kept), torch.no_grad():
        with pytest.raises(IndexError):
            model(torch.tensor([[peers.VOCABULARY + 7]]), decoder_input_ids=IDS)
        model(IDS, decoder_input_ids=IDS)  # and it goes on
    assert len(kept.seen) == 6


def state(model: nn.Module) -> list[Any]:
    """What holding could leave behind."""
    parts: list[Any] = list(model.modules())
    names = ("forward", "generate")
    hooks = [(len(part._forward_hooks), len(part._forward_pre_hooks)) for part in parts]
    configs = [part.config._attn_implementation for part in parts if hasattr(part, "config")]
    return [hooks, configs, [name in part.__dict__ for part in parts for name in names], fast_path(), modes()]


def fast_path() -> bool:
    return torch.backends.mha.get_fastpath_enabled()


def modes() -> int:
    return torch._C._len_torch_function_stack()


def test_holds_nest() -> None:
    model, outer, inner = peers.gpt2(), Kept(), Kept()
    with torch.no_grad(), hold(model, outer):
        model(IDS, attention_mask=REAL)
        with hold(model, inner):
            model(IDS, attention_mask=REAL)
            model.generate(IDS, attention_mask=REAL, max_new_tokens=2, num_beams=2, pad_token_id=0)
        model(IDS, attention_mask=REAL)
    assert len(inner.seen) == 2 + 4
    assert len(outer.seen) == len(inner.seen) + 4
    assert model.config._attn_implementation == "sdpa"
    orders = [[told[1] for told in kept.told if told[0] == "end" and told[1] is not None] for kept in (outer, inner)]
    assert [len(order) for order in orders] == [1, 1]


def test_a_hook_changes_what_the_model_gets_and_a_recorder_sees_what_attention_gave_whoever_came_first() -> None:
    def silence(site: str, following: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        output = following(query, key, value, **options)
        return output * 0 if site == "transformer.h.1.attn" else output

    model, kept = peers.gpt2(), Kept()
    with torch.no_grad():
        before = model(IDS).logits
        with hold(model, hook=silence), hold(model, kept):
            changed = model(IDS).logits
        with hold(model, kept), hold(model, hook=silence):
            assert torch.equal(model(IDS).logits, changed)
        assert not torch.allclose(before, changed, atol=1e-3)
        assert [bool(seen.output.any()) for seen in kept.seen] == [True] * 4
        assert torch.equal(model(IDS).logits, before)


def test_what_is_told_of_a_forward() -> None:
    model, kept = peers.gpt2(), Kept()
    with torch.no_grad(), hold(model, kept):
        model(IDS)
        model.forward(input_ids=IDS)
        model(inputs_embeds=torch.randn(1, 3, 16))
    calls = [told for told in kept.told if told[0] != "see"]
    assert [told[0] for told in calls] == ["begin", "end"] * 3
    assert calls[0][1] is IDS
    assert calls[2][1] is IDS
    assert calls[4][1] is None


def test_labels_become_the_target() -> None:
    model, kept = peers.marian(), Kept()
    with torch.no_grad(), hold(model, kept):
        model(input_ids=IDS, attention_mask=REAL, labels=torch.tensor([[9, 8, 1], [7, 1, -100]]))
    assert kept.told[0][2].tolist() == [[0, 9, 8], [0, 7, 1]]


def test_a_part_called_by_itself_is_a_call() -> None:
    model, kept = peers.marian(), Kept()
    with torch.no_grad(), hold(model, kept):
        model.get_encoder()(IDS, attention_mask=REAL)
        model.get_input_embeddings()(IDS)
    assert [told[0] for told in kept.told] == ["begin", "see", "see", "end"]


@pytest.mark.parametrize("cached", [True, False])
def test_generate_is_one_call_that_tells_what_is_new_at_each_turn(cached: bool) -> None:
    model, kept = peers.gpt2(), Kept()
    with torch.no_grad():
        expected = model.generate(IDS, attention_mask=REAL, max_new_tokens=3, pad_token_id=0, use_cache=cached)
        with hold(model, kept):
            found = model.generate(IDS, attention_mask=REAL, max_new_tokens=3, pad_token_id=0, use_cache=cached)
    assert torch.equal(found, expected)
    begun = [told[1] for told in kept.told if told[0] == "begin"]
    assert begun[0] is None
    assert torch.equal(torch.cat(begun[1:], 1), expected[:, :-1])  # the last token is read by nobody
    assert kept.told[-1] == ("end", None)


@pytest.mark.parametrize("name", ["GPT-2", "Marian", "Whisper"])
def test_beams_give_their_order_and_the_user_what_he_asked_for(name: str) -> None:
    model, kept = MODELS[name](), Kept()
    given = matrix.inputs(model, "plain")
    more = {"max_new_tokens": 4, "num_beams": 3, "num_return_sequences": 2}
    with torch.no_grad():
        plain = model.generate(**given, **more)
        with hold(model, kept):
            found = model.generate(**given, **more)
            whole = model.generate(**given, **more, return_dict_in_generate=True)
    assert torch.equal(found, plain)
    assert not isinstance(whole, Tensor)
    orders = [told[1] for told in kept.told if told[0] == "end" and told[1] is not None]
    assert len(orders) == 2
    if name != "Whisper":  # which cuts its own
        assert torch.equal(orders[1], whole.beam_indices)


def test_gradients_flow_as_through_sdpa() -> None:
    model = peers.gpt2(attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0).train()
    model(IDS, attention_mask=REAL, labels=IDS).loss.backward()
    expected = {name: tensor.grad.clone() for name, tensor in model.named_parameters()}
    model.zero_grad()
    with hold(model, Kept()):
        model(IDS, attention_mask=REAL, labels=IDS).loss.backward()
    for name, tensor in model.named_parameters():
        torch.testing.assert_close(tensor.grad, expected[name], atol=small_apart(expected[name]), rtol=0)


def test_dropout_acts_in_training_and_is_told() -> None:
    model, kept = peers.gpt2(attn_pdrop=0.5).train(), Kept()
    with hold(model, kept):
        one, other = model(IDS).logits, model(IDS).logits
    assert not torch.equal(one, other)
    assert {seen.dropout for seen in kept.seen} == {0.5}


def test_a_model_without_attention_is_refused() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    with pytest.raises(InputError, match="no attention of Sequential came through"), hold(model, Kept()):
        model(torch.randn(2, 4))
