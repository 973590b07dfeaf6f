"""Changing heads: what is changed is what was asked, nothing else, in every family, and afterwards all is as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks import peers
from regard.decoding import Limits, greedy, stepper_for
from regard.errors import InputError, KindError, RegardError, UnknownNameError
from regard.lens.intervene import intervene, means
from regard.lens.watch import watch
from tests.bounds import small_apart
from tests.families import FAMILIES, families

ATTENDING = families(lambda family: bool(family.sites))
IDS = torch.randint(5, 40, (2, 7), generator=torch.Generator().manual_seed(0))
Peer = tuple[nn.Module, Callable[[], Tensor], str]


def peer(name: str) -> Peer:
    """A model of Hugging Face, what runs it, and one of its sites."""
    if name == "gpt2":
        model = peers.gpt2()
        return model, lambda: model(IDS).logits, "transformer.h.1.attn"
    model = peers.marian()
    return model, lambda: model(IDS, decoder_input_ids=IDS[:, :5]).logits, "model.decoder.layers.1.encoder_attn"


def ours(name: str) -> Peer:
    family = FAMILIES[name]
    model, example = family.model(), family.example()
    place = 0 if name.startswith("encoder class") else -1  # whose last layer is read in one row only
    return model, lambda: family.run(model, example), family.sites[place]


CASES = [*((ours, name) for name in ATTENDING), (peer, "gpt2"), (peer, "marian")]
cases = pytest.mark.parametrize(("kind", "name"), CASES, ids=[name for _, name in CASES])


def near(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=small_apart(expected), rtol=0)


@cases
@torch.no_grad()
def test_every_change_changes_the_model_and_is_undone(kind: Any, name: str) -> None:
    model, run, site = kind(name)
    before = run()
    recurrent = name == "recurrent attention"
    row = None if recurrent else 2
    changes: list[dict[str, Any]] = [
        {"silence": (site, 1)}, {"forbid": (site, 1, row, 0)}, {"pin": (site, 1, row, 1)},
        {"sharpen": (site, 1, row, 3.0)},
    ]  # fmt: skip
    if not recurrent:  # whose one head works row by row
        changes.append({"mean": (site, 1)})
    for change in changes:
        change = {key: (one[0], 0 if recurrent else one[1], *one[2:]) for key, one in change.items()}
        with intervene(model, **change):
            assert not torch.allclose(run(), before, atol=small_apart(before)), change
        assert torch.equal(run(), before)


@cases
@torch.no_grad()
def test_weights_are_as_asked_and_those_of_other_heads_and_rows_untouched(kind: Any, name: str) -> None:
    model, run, site = kind(name)
    head, row = (0, None) if name == "recurrent attention" else (1, 2)
    with watch(model) as plain:
        run()
    was = plain.weights(site, head)
    mine = slice(None) if row is None else slice(row, row + 1)
    for change, wanted in (
        ({"forbid": (site, head, row, 0)}, without_key(was, mine, 0)),
        ({"pin": (site, head, row, 1)}, pinned(was, mine, 1)),
        ({"sharpen": (site, head, row, 3.0)}, sharpened(was, mine, 3.0)),
    ):
        with watch(model) as seen, intervene(model, **change):
            run()
        with intervene(model, **change), watch(model) as also:
            run()
        first = slice(0, 1) if name == "recurrent attention" else slice(None)  # each step there hangs on the last
        near(seen.weights(site, head)[first], wanted[first])
        assert torch.equal(seen.weights(site, head), also.weights(site, head))
        assert seen.badge.true
        if head:
            near(seen.weights(site, 0), plain.weights(site, 0))


def without_key(weights: Tensor, rows: slice, key: int) -> Tensor:
    weights = weights.clone()
    weights[rows, key] = 0
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)


def pinned(weights: Tensor, rows: slice, key: int) -> Tensor:
    weights = weights.clone()
    weights[rows] = 0
    weights[rows, key] = 1
    return weights


def sharpened(weights: Tensor, rows: slice, factor: float) -> Tensor:
    weights = weights.clone()
    weights[rows] = weights[rows] ** factor
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)


@torch.no_grad()
def test_a_silent_head_is_one_whose_output_nobody_reads() -> None:
    model: Any = peers.gpt2()
    with intervene(model, silence=[("transformer.h.0.attn", 1), ("transformer.h.1.attn", 0)]):
        silent = model(IDS).logits
    size = model.config.n_embd // model.config.n_head
    model.transformer.h[0].attn.c_proj.weight[size : 2 * size] = 0
    model.transformer.h[1].attn.c_proj.weight[:size] = 0
    near(silent, model(IDS).logits)


@torch.no_grad()
def test_the_same_in_ours() -> None:
    model: Any = FAMILIES["decoder"].model()
    example = FAMILIES["decoder"].example()
    with intervene(model, silence=("decoder.0.self", 2)):
        silent = model(example.ids, example.mask)
    layer = next(
        module for module in model.modules() if getattr(getattr(module, "seam", 0), "site", "") == "decoder.0.self"
    )
    layer.out.weight[:, 8:12] = 0  # heads of 4
    near(silent, model(example.ids, example.mask))


@torch.no_grad()
def test_a_mean_of_other_texts_holds_in_every_row() -> None:
    model: Any = peers.gpt2()
    site = "transformer.h.1.attn"
    with means(model) as found:
        model(IDS)
    size = model.config.n_embd // model.config.n_head
    seen: list[Tensor] = []
    hook = model.transformer.h[1].attn.c_proj.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    model(IDS)
    with intervene(model, mean=(site, 1), means=found):
        model(IDS[:, :1])
    hook.remove()
    near(found[site, 1].float(), seen[0][..., size : 2 * size].mean((0, 1)))
    near(seen[1][0, 0, size : 2 * size], found[site, 1].float())
    with pytest.raises(InputError, match="its own mean"), intervene(model, mean=(site, 1)):
        model(IDS[:, :1])


@pytest.mark.parametrize("site", ["decoder.0.self", "decoder.1.cross"])
@torch.no_grad()
def test_rows_are_positions_also_in_cached_steps(site: str) -> None:
    """What is generated with a cache under a change is what a forward over the whole text says under it."""
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example((5,))
    change: dict[str, Any] = {"pin": (site, None, 2, 0), "sharpen": ("decoder.*.self", 1, 3, 4.0)}
    with intervene(model, **change), watch(model) as seen:
        stepper, prompt = stepper_for(model, example.ids, example.mask)
        said = [one.ids for one in greedy(stepper, prompt, Limits(6, (2,)))]
        texts = torch.tensor([[1, *ids] for ids in said])[:, :6]
        model(example.ids, texts, example.mask)
    stepwise, whole = seen.calls
    assert torch.equal(stepwise.weights(site, 3)[2], torch.eye(6)[0][: stepwise.extent(site)[1]])
    for place in whole.sites:
        for head in range(4):
            near(stepwise.weights(place, head), whole.weights(place, head))


@torch.no_grad()
def test_generation_of_a_peer_under_a_change() -> None:
    model: Any = peers.gpt2()
    change = {"forbid": [("transformer.h.0.attn", 0, 8, 1), ("transformer.h.1.attn", None, None, 2)]}
    how = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
    with intervene(model, **change), watch(model) as seen:
        cached = model.generate(IDS, **how)
        whole = model.generate(IDS, use_cache=False, **how)
    assert torch.equal(cached, whole)
    assert seen.calls[0].weights("transformer.h.0.attn", 0)[8, 1] == 0
    assert seen.calls[0].weights("transformer.h.0.attn", 0)[7, 1] > 0
    assert not seen.calls[0].weights("transformer.h.1.attn", 1)[:, 2].any()


@torch.no_grad()
def test_blocks_nest_and_an_exception_undoes_them_too() -> None:
    model, run, site = ours("transformer post")
    before = run()
    with intervene(model, silence=(site, 0)):
        one = run()
        with intervene(model, silence=(site, 1)):
            two = run()
        assert torch.equal(run(), one)
    with intervene(model, silence=[(site, 0), (site, 1)]):
        near(run(), two)
    with pytest.raises(ZeroDivisionError), intervene(model, silence=(site, 0)):
        1 / 0  # noqa: B018
    assert torch.equal(run(), before)


def test_gradients_flow_through_a_change() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(), family.example()
    with intervene(model, silence=("decoder.1.self", 0), sharpen=("decoder.0.self", 1, None, 2.0)):
        family.loss(model, example).backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


@torch.no_grad()
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"silence": ("decoder.0.slef", 1)}, UnknownNameError, "decoder.0.self"),
        ({"silence": "decoder.0.self"}, KindError, "tuples of 2"),
        ({"forbid": ("decoder.0.self", 1)}, KindError, "tuples of 4"),
        ({"silence": ("decoder.0.self", 9)}, InputError, "no head 9"),
        ({"pin": ("decoder.0.self", 0, 1, 3)}, InputError, "later key"),
        ({"pin": ("decoder.0.self", 0, 1, 99)}, InputError, "no key 99"),
        ({"silence": 5}, KindError, "tuples of 2"),
        ({"silence": None}, KindError, "tuples of 2"),
        ({"silence": ("decoder.0.self", -1)}, KindError, "no head for silence"),
        ({"silence": ("decoder.0.self", "1")}, KindError, "no head for silence"),
        ({"silence": ("decoder.0.self", True)}, KindError, "no head for silence"),
        ({"forbid": ("decoder.0.self", 0, -1, 0)}, KindError, "no row for forbid"),
        ({"forbid": ("decoder.0.self", 0, 1.0, 0)}, KindError, "no row for forbid"),
        ({"forbid": ("decoder.0.self", 0, 1, -1)}, KindError, "no key for forbid"),
        ({"pin": ("decoder.0.self", 0, 1, None)}, KindError, "no key for pin"),
        ({"sharpen": ("decoder.0.self", 0, 1, float("nan"))}, KindError, "no factor for sharpen"),
        ({"forbid": ("decoder.0.self", 0, 99, 0)}, InputError, "changed nothing"),
        ({"sharpen": ("decoder.0.self", 0, 99, 2.0)}, InputError, "changed nothing"),
    ],
)
def test_what_cannot_be_done_is_refused(change: dict[str, Any], error: type[RegardError], words: str) -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(), family.example()
    with pytest.raises(error, match=words), intervene(model, **change):
        family.run(model, example)


@torch.no_grad()
def test_an_unknown_site_of_a_peer_is_refused_once_its_sites_are_known() -> None:
    model: Any = peers.gpt2()
    with pytest.raises(UnknownNameError, match=r"transformer\.h\.0\.attn"):  # noqa: SIM117
        with intervene(model, silence=("transformer.h.0.atn", 0)):
            model(IDS)


@torch.no_grad()
def test_rows_of_a_recurrent_model_are_not_known() -> None:
    family = FAMILIES["recurrent attention"]
    with (
        pytest.raises(InputError, match="cannot be known"),
        intervene(model := family.model(), pin=(family.sites[0], 0, 2, 0)),
    ):
        family.run(model, family.example())


def test_only_a_model_can_be_changed() -> None:
    with pytest.raises(KindError), intervene("a name", silence=("decoder.0.self", 0)):
        pass


WINDOWED = "model.layers.1.self_attn"


@pytest.mark.parametrize(
    "change",
    [
        {"forbid": (WINDOWED, 1, 9, 8)},
        {"forbid": (WINDOWED, 1, None, 8)},
        {"pin": (WINDOWED, 1, 9, 8)},
        {"pin": (WINDOWED, 1, None, 0)},  # which most rows cannot see any more
        {"sharpen": (WINDOWED, None, 9, 5.0)},
    ],
)
@torch.no_grad()
def test_positions_hold_where_a_cache_forgets_its_first_keys(change: dict[str, Any]) -> None:
    """A cache of a window holds the last keys only, and counts them from 0 again."""
    from transformers import DynamicCache, MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, sliding_window=4,
    )  # fmt: skip
    model: Any = MistralForCausalLM(config).eval()
    ids, cache = torch.randint(2, 50, (1, 12)), DynamicCache(config=config)
    before = model(ids).logits
    with intervene(model, **change):
        whole = model(ids).logits
        parts = [ids[:, :3], *ids[:, 3:].split(1, 1)]
        stepwise = torch.cat([model(part, past_key_values=cache).logits for part in parts], 1)
    near(stepwise, whole)
    assert not torch.allclose(whole, before, atol=1e-4)


@pytest.mark.parametrize("site", ["layers.1.self_attn", "layers.1.multihead_attn"])
@torch.no_grad()
def test_one_row_of_a_decoder_of_torch(site: str) -> None:
    """Its cross-attention is not named so; and multi-head attention is computed with a mask it did not have."""
    torch.manual_seed(0)
    model = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 2).eval()
    target, memory = torch.randn(2, 3, 16), torch.randn(2, 7, 16)
    ahead = nn.Transformer.generate_square_subsequent_mask(3)
    before = model(target, memory, tgt_mask=ahead)
    for change in ({"forbid": (site, 1, 1, 0)}, {"pin": (site, 1, 1, 0)}, {"sharpen": (site, 1, 1, 5.0)}):
        with intervene(model, **change), watch(model) as seen:
            after = model(target, memory, tgt_mask=ahead)
        assert (after - before).abs().amax((0, 2)).gt(1e-3).tolist() == [False, True, False]
        assert seen.badge.difference <= small_apart()
    with intervene(model, pin=(site, 1, 1, 0)), watch(model) as seen:
        model(target, memory, tgt_mask=ahead)
    assert seen.weights(site, 1)[1, 0] == 1


@torch.no_grad()
def test_rows_of_queries_of_another_text_count_from_0() -> None:
    """Fewer queries than keys, and no row hidden from any: latent queries over a text, without a name that says so."""

    class Pooling(nn.Module):
        def forward(self, query: Tensor, key: Tensor) -> Tensor:
            return nn.functional.scaled_dot_product_attention(query, key, key)

    model, query, key = Pooling(), torch.randn(1, 2, 3, 8), torch.randn(1, 2, 9, 8)
    with intervene(model, pin=("Pooling", 1, 2, 7)):
        output = model(query, key)
    near(output[0, 1, 2], key[0, 1, 7])
    near(output[0, :, :2], model(query, key)[0, :, :2])


@torch.no_grad()
def test_weights_that_the_model_itself_gives_are_the_changed_ones() -> None:
    model: Any = peers.gpt2()
    model.set_attn_implementation("eager")
    before = model(IDS, output_attentions=True).attentions[1]
    with intervene(model, pin=("transformer.h.1.attn", 1, 4, 2)):
        after = model(IDS, output_attentions=True).attentions[1]
    assert after[0, 1, 4].tolist() == [0, 0, 1, 0, 0, 0, 0]
    near(after[:, 0], before[:, 0])
    encoder = nn.ModuleDict({"look": nn.MultiheadAttention(16, 4, batch_first=True)}).eval()
    with intervene(encoder, pin=("look", 1, 3, 2)):
        _, weights = encoder["look"](*[torch.randn(1, 5, 16)] * 3, average_attn_weights=False)
    assert weights[0, 1, 3].tolist() == [0, 0, 1, 0, 0]


@torch.no_grad()
def test_sharpening_takes_in_what_is_added_to_scores() -> None:
    class Biased(nn.Module):
        def forward(self, query: Tensor, key: Tensor, bias: Tensor) -> Tensor:
            return nn.functional.scaled_dot_product_attention(query, key, key, bias)

    query, key, bias = torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 5)
    bias[..., 4] = float("-inf")
    model, scores = Biased(), query @ key.mT / 8**0.5 + bias
    for factor in (3.0, 0.0):
        with intervene(model, sharpen=("Biased", None, None, factor)):
            output = model(query, key, bias)
        expected = scores.masked_fill(bias.isfinite(), 0) if not factor else scores * factor
        near(output, expected.softmax(-1) @ key)


@torch.no_grad()
def test_a_mask_that_would_be_too_large_is_refused() -> None:
    family = FAMILIES["decoder"]
    model = family.model(max_length=4096)
    ids = torch.randint(3, 19, (1, 2100))
    with pytest.raises(InputError, match="too large"), intervene(model, forbid=("decoder.0.self", 0, 1, 0)):
        model(ids)
    with intervene(model, forbid=("decoder.0.self", 0, None, 0)):
        model(ids)
