"""Parts of heads taken from another run: what is put in place is what was there, in every family, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from torch import Tensor, nn

from benchmarks import peers
from regard.attention import attend
from regard.decoding import stepper_for
from regard.errors import InputError, KindError, RegardError, ShapeError, UnknownNameError
from regard.lens.hooks import attach
from regard.lens.hooks.activations import Activations
from regard.lens.intervene import activations, intervene
from tests.bounds import small_apart
from tests.families import FAMILIES, families
from tests.subjects import THEIRS

PARTS = ("output", "query", "key", "value", "weights")
ATTENDING = families(lambda family: bool(family.sites) and family.name != "recurrent attention")
DRAW = torch.Generator().manual_seed(0)
IDS, OTHERS = torch.randint(6, 40, (2, 7), generator=DRAW), torch.randint(6, 40, (2, 7), generator=DRAW)


class Case(NamedTuple):
    """A model, what runs it on a text and on another of the same length, a site, and what reads its heads' outputs."""

    model: Any
    here: Callable[[], Tensor]
    there: Callable[[], Tensor]
    site: str
    reader: nn.Module


def ours(name: str) -> Case:
    family = FAMILIES[name]
    model, here, there = family.model(), family.example(), family.example(seed=1)
    site = family.sites[-1]
    layer = next(part for part in model.modules() if getattr(getattr(part, "seam", None), "site", "") == site)
    return Case(model, lambda: family.run(model, here), lambda: family.run(model, there), site, layer.out)


def theirs(name: str) -> Case:
    """Of Hugging Face: self-attention, cross-attention, key heads that serve several query heads, a bias."""
    site, reader = THEIR_SITES[name]
    if name.startswith("gpt2"):
        model: Any = peers.gpt2()
        model.set_attn_implementation(name.split()[1])
    elif name == "marian":
        model = peers.marian()
    else:
        kind, config, settings, _ = THEIRS[name]
        model = peers.lively(getattr(transformers, kind)(getattr(transformers, config)(**settings)), 0, 1.0)

    def run(ids: Tensor) -> Tensor:
        targets = {"decoder_input_ids": ids[:, :5]} if model.config.is_encoder_decoder else {}
        return model(input_ids=ids, **targets).logits  # type: ignore[no-any-return]

    return Case(model, lambda: run(IDS), lambda: run(OTHERS), site, model.get_submodule(f"{site}.{reader}"))


THEIR_SITES = {
    "gpt2 sdpa": ("transformer.h.1.attn", "c_proj"),
    "gpt2 eager": ("transformer.h.1.attn", "c_proj"),
    "marian": ("model.decoder.layers.1.encoder_attn", "out_proj"),
    "llama": ("model.layers.0.self_attn", "o_proj"),
    "t5": ("decoder.block.0.layer.0.SelfAttention", "o"),
}
CASES = [*((ours, name) for name in ATTENDING), *((theirs, name) for name in THEIR_SITES)]
cases = pytest.mark.parametrize(("kind", "name"), CASES, ids=[name for _, name in CASES])


def near(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=small_apart(expected), rtol=0)


def run_of(model: Any, call: Callable[[], Any]) -> Activations:
    with activations(model) as run:
        call()
    return run


def read_by(case: Case, call: Callable[[], Any]) -> Tensor:
    """What the heads of the site gave, side by side, as the matrix after them reads it.

    Nothing is changed by us here; but what a model of Hugging Face's computes in its eager way is computed by `attend`.
    """
    inputs: list[Tensor] = []
    handle = case.reader.register_forward_pre_hook(lambda _, args: inputs.append(args[0].clone()))
    with intervene(case.model):
        call()
    handle.remove()
    return inputs[-1]


def with_input(case: Case, taken: Tensor) -> Tensor:
    """The model where that matrix reads something else: patching by PyTorch alone."""
    handle = case.reader.register_forward_pre_hook(lambda *_: (taken,))
    with intervene(case.model):
        output = case.here()
    handle.remove()
    return output


@cases
@torch.no_grad()
def test_a_run_patched_with_itself_is_the_same(kind: Any, name: str) -> None:
    case = kind(name)
    own = run_of(case.model, case.here)
    with intervene(case.model):
        before = case.here()
    near(case.here(), before)
    with intervene(case.model, patch=("*", None, "output", None), source=own):
        assert torch.equal(case.here(), before)
    for part in PARTS:
        with intervene(case.model, patch=[("*", head, part, None) for head in range(2)], source=own):
            near(case.here(), before)


@cases
@torch.no_grad()
def test_outputs_of_all_heads_are_what_the_matrix_after_them_reads_then(kind: Any, name: str) -> None:
    case = kind(name)
    expected = with_input(case, read_by(case, case.there))
    with intervene(case.model, patch=(case.site, None, "output", None), source=run_of(case.model, case.there)):
        assert torch.equal(case.here(), expected)
    assert not torch.allclose(expected, case.here(), atol=small_apart(expected))


@cases
@torch.no_grad()
def test_one_row_of_one_head_is_patched_and_nothing_else(kind: Any, name: str) -> None:
    case = kind(name)
    run = run_of(case.model, case.there)
    site = run.site(case.site)
    head, (row, other) = 1, (0, site.rows - 1)
    size = site.output.shape[-1]
    mine = slice(head * size, (head + 1) * size)
    expected = read_by(case, case.here)
    expected[:, row, mine] = read_by(case, case.there)[:, other, mine]
    with intervene(case.model, patch=(case.site, head, "output", {row: other}), source=run):
        assert torch.equal(read_by(case, case.here), expected)


@cases
@torch.no_grad()
def test_query_key_and_value_together_are_the_output_and_so_are_weights_and_value(kind: Any, name: str) -> None:
    case = kind(name)
    run = run_of(case.model, case.there)
    heads = run.site(case.site).query.shape[1]

    def patched(*parts: str, apart: bool = False) -> Tensor:
        """All heads in one patch, or each in its own."""
        patches = [(case.site, head, part, None) for part in parts for head in (range(heads) if apart else [None])]
        with intervene(case.model, patch=patches, source=run):
            return read_by(case, case.here)

    expected = patched("output")
    for parts in (("query", "key", "value"), ("weights", "value")):
        near(patched(*parts), expected)
        near(patched(*parts, apart=True), expected)


@torch.no_grad()
def test_weights_of_the_other_run_are_mixed_with_the_values_of_this_one() -> None:
    case = ours("encoder")
    here, there = (run_of(case.model, call).site(case.site) for call in (case.here, case.there))
    with intervene(case.model, patch=(case.site, 2, "weights", 1), source=run_of(case.model, case.there)):
        read = read_by(case, case.here).unflatten(-1, (4, -1)).transpose(1, 2)
    near(read[:, 2, 1], (there.weights()[:, 2, 1, None] @ here.value[:, 2])[:, 0])
    assert torch.equal(read[:, :2], here.output[:, :2])
    assert torch.equal(read[:, 2, 0], here.output[:, 2, 0])


@torch.no_grad()
def test_weights_of_single_rows_are_those_of_all() -> None:
    for case in (ours("transformer post"), ours("decoder"), theirs("llama"), theirs("t5")):
        for site in run_of(case.model, case.there).sites.values():
            rows = torch.cat([site.weights(row) for row in range(site.rows)], -2)
            near(rows, site.weights())
            near(rows @ site.value.repeat_interleave(rows.shape[1] // site.value.shape[1], 1), site.output)


@torch.no_grad()
def test_a_query_head_has_its_own_key_and_value_where_several_share_one() -> None:
    """The heads beside it keep theirs."""
    case = theirs("llama")
    here, there = (run_of(case.model, call).site(case.site) for call in (case.here, case.there))
    assert here.query.shape[1] == 2 * here.key.shape[1]
    for part in ("key", "value"):
        tensors = {name: getattr(here, name).repeat_interleave(2, 1) for name in ("key", "value")}
        tensors[part][:, 3, 2] = getattr(there, part)[:, 1, 4]
        expected = attend(here.query, **tensors, **here.options)
        with intervene(case.model, patch=(case.site, 3, part, {2: 4}), source=run_of(case.model, case.there)):
            read = read_by(case, case.here)
        near(read.unflatten(-1, (4, -1)).transpose(1, 2), expected)
        assert torch.equal(here.output[:, :3].transpose(1, 2).flatten(-2), read[..., :12])


@torch.no_grad()
def test_one_text_serves_a_batch_and_positions_may_differ() -> None:
    """Texts of different length: the end of one stands at the end of others."""
    family, case = FAMILIES["decoder"], ours("decoder")
    ids, longer = family.example((7, 7), seed=3).ids, family.example((9,), seed=4).ids
    run = run_of(case.model, lambda: case.model(longer))
    pairs = {position: position + 2 for position in range(3, 7)}
    with intervene(case.model, patch=(case.site, None, "output", pairs), source=run):
        read = read_by(case, lambda: case.model(ids))
    assert torch.equal(read[:, 3:], read_by(case, lambda: case.model(longer))[:, 5:].expand(2, -1, -1))
    assert torch.equal(read[:, :3], read_by(case, lambda: case.model(ids))[:, :3])


@pytest.mark.parametrize("part", PARTS)
@torch.no_grad()
def test_positions_hold_as_a_text_grows(part: str) -> None:
    """What a model says step by step under a patch is what it says of the whole text under it."""
    family = FAMILIES["transformer post"]
    model, here, there = family.model(), family.example((5, 4)), family.example((5, 4), seed=2)
    assert here.target is not None
    run = run_of(model, lambda: family.run(model, there))
    before = family.run(model, here)
    for patch in (
        [("decoder.*", 1, part, [1, 2]), ("decoder.0.self", 2, part, {3: 2}), ("encoder.*", 3, part, 0)],
        [("decoder.*", None, part, None), ("encoder.1.self", 1, part, None)],
    ):
        with intervene(model, patch=patch, source=run):
            whole = family.run(model, here)
            stepper, _ = stepper_for(model, here.ids, here.mask)
            stepwise = torch.stack([stepper.advance(ids) for ids in here.target.split(1, 1)], 1)
        near(stepwise, whole)
        assert not torch.allclose(whole, before, atol=small_apart(before))


@torch.no_grad()
def test_a_peer_generates_under_a_patch() -> None:
    model: Any = peers.gpt2()
    run = run_of(model, lambda: model(OTHERS[:1]))
    patch = [("transformer.h.0.attn", 0, "output", {8: 3, 2: 2}), ("transformer.h.1.attn", 1, "value", 4)]
    how = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
    read: list[Tensor] = []

    def look(site: str, call: Any, *args: Any, **options: Any) -> Tensor:
        output: Tensor = call(*args, **options)
        read.extend(output[:, 0].unbind(1) if site.endswith("0.attn") else [])
        return output

    with intervene(model, patch=patch, source=run), attach(model, hook=look):
        model.generate(IDS, **how)
    taken = run.site("transformer.h.0.attn").output[0, 0]
    assert torch.equal(read[8], taken[3].expand(2, -1))
    assert torch.equal(read[2], taken[2].expand(2, -1))
    assert not torch.allclose(read[7], taken[3], atol=1e-4)


@pytest.mark.parametrize("part", PARTS)
@torch.no_grad()
def test_positions_hold_where_a_cache_forgets_its_first_keys(part: str) -> None:
    torch.manual_seed(0)
    config = transformers.MistralConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, sliding_window=4,
    )  # fmt: skip
    model: Any = transformers.MistralForCausalLM(config).eval()
    ids, other = torch.randint(2, 50, (2, 1, 12))
    run, cache = run_of(model, lambda: model(other)), transformers.DynamicCache(config=config)
    before = model(ids).logits
    with intervene(model, patch=("model.layers.1.self_attn", 1, part, [8, 9]), source=run):
        whole = model(ids).logits
        steps = [model(one, past_key_values=cache).logits for one in (ids[:, :3], *ids[:, 3:].split(1, 1))]
    near(torch.cat(steps, 1), whole)
    assert (whole - before).abs().amax((0, 2))[8:10].gt(1e-5).all()


@torch.no_grad()
def test_blocks_nest_and_a_patch_comes_before_other_changes() -> None:
    case = ours("decoder")
    one, two = run_of(case.model, case.there), run_of(case.model, case.here)
    before = case.here()
    with intervene(case.model, patch=(case.site, None, "output", None), source=one):
        with intervene(case.model, patch=(case.site, None, "output", None), source=two):
            assert torch.equal(case.here(), before)
        after = case.here()
    with intervene(case.model, silence=(case.site, 0)):
        silent = case.here()
    with intervene(case.model, silence=(case.site, 0), patch=(case.site, 0, "output", None), source=one):
        assert torch.equal(case.here(), silent)
    assert not torch.equal(after, before)
    assert torch.equal(case.here(), before)


def test_gradients_flow_through_a_patch() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(), family.example()
    run = run_of(model, lambda: family.run(model, family.example(seed=1)))
    patch = [("decoder.0.self", 1, part, 1) for part in PARTS]
    with intervene(model, patch=patch, source=run):
        family.loss(model, example).backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


@torch.no_grad()
def test_a_module_of_torch() -> None:
    """Multi-head attention through PyTorch's own function, and a cross-attention that its name does not tell."""
    torch.manual_seed(0)
    model = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 2).eval()
    texts, memories = torch.randn(2, 1, 3, 16), torch.randn(2, 1, 7, 16)
    run = run_of(model, lambda: model(texts[1], memories[1]))
    for site in ("layers.1.self_attn", "layers.1.multihead_attn"):
        results = []
        for parts in (["output"], ["query", "key", "value"], ["weights", "value"]):
            with intervene(model, patch=[(site, None, part, None) for part in parts], source=run):
                results.append(model(texts[0], memories[0]))
        near(results[1], results[0])
        near(results[2], results[0])
        assert not torch.allclose(results[0], model(texts[0], memories[0]), atol=1e-4)


@torch.no_grad()
def test_nothing_of_rows_by_keys_is_kept() -> None:
    case, length = ours("decoder"), 32
    ids = torch.randint(3, 19, (1, length))
    run = run_of(case.model, lambda: case.model(ids))
    assert list(run.sites) == list(FAMILIES["decoder"].sites)
    for site in run.sites.values():
        tensors = [site.query, site.key, site.value, site.output, *site.options.values()]
        assert all(one.numel() < length * length for one in tensors if isinstance(one, Tensor))


FAMILY = FAMILIES["decoder"]
EXAMPLE = FAMILY.example()
SITE = "decoder.0.self"


@torch.no_grad()
@pytest.mark.parametrize(
    ("patch", "error", "words"),
    [
        (("decoder.0.slef", 1, "output", None), UnknownNameError, "decoder.0.self"),
        ((SITE, 1, "output"), KindError, "tuples of 4"),
        ((SITE, 9, "output", None), InputError, "no head 9"),
        ((SITE, -1, "output", None), KindError, "no head for patch"),
        ((SITE, 1, "ouput", None), UnknownNameError, "did you mean 'output'"),
        ((SITE, 1, "output", -1), KindError, "no positions"),
        ((SITE, 1, "output", []), KindError, "no positions"),
        ((SITE, 1, "output", "3"), KindError, "no positions"),
        ((SITE, 1, "output", {1: None}), KindError, "no positions"),
        ((SITE, 1, "output", True), KindError, "no positions"),
        ((SITE, 1, "output", 99), InputError, "changed nothing"),
        ((SITE, 1, "key", [0, 99]), InputError, "changed nothing"),
        ((SITE, 1, "output", {1: 99}), InputError, "source run has no row 99"),
        ((SITE, 1, "value", {1: 99}), InputError, "source run has no key 99"),
        ((SITE, 1, "weights", {1: 99}), InputError, "source run has no row 99"),
    ],
)
def test_what_cannot_be_patched_is_refused(patch: Any, error: type[RegardError], words: str) -> None:
    model = FAMILY.model()
    run = run_of(model, lambda: FAMILY.run(model, EXAMPLE))
    with pytest.raises(error, match=words), intervene(model, patch=patch, source=run):
        FAMILY.run(model, EXAMPLE)


@torch.no_grad()
@pytest.mark.parametrize("part", PARTS)
def test_runs_that_do_not_fit_are_refused(part: str) -> None:
    model = FAMILY.model()
    for example, error, words in (
        (FAMILY.example((4, 4, 4)), ShapeError, "does not have as many (row|key)s in both runs"),
        (FAMILY.example((8, 8, 8)), ShapeError, "does not have as many (row|key)s in both runs"),
        (FAMILY.example((6, 6)), ShapeError, "as many texts"),
    ):
        run = run_of(model, lambda example=example: FAMILY.run(model, example))
        with pytest.raises(error, match=words), intervene(model, patch=(SITE, 1, part, None), source=run):
            FAMILY.run(model, EXAMPLE)
    other = FAMILY.model(heads=2)
    run = run_of(other, lambda: FAMILY.run(other, EXAMPLE))
    with pytest.raises(ShapeError, match="not of one shape"), intervene(model, patch=(SITE, 1, part, 1), source=run):
        FAMILY.run(model, EXAMPLE)
    shallow = FAMILY.model(layers=1)
    run = run_of(shallow, lambda: FAMILY.run(shallow, EXAMPLE))
    with pytest.raises(InputError, match=r"no attention at decoder\.1\.self"):  # noqa: SIM117
        with intervene(model, patch=("decoder.1.self", 1, part, 1), source=run):
            FAMILY.run(model, EXAMPLE)


@torch.no_grad()
def test_weights_over_other_keys_are_refused() -> None:
    family = FAMILIES["transformer post"]
    model, here = family.model(), family.example((5,))
    run = run_of(model, lambda: family.run(model, family.example((6,))))
    with (
        pytest.raises(ShapeError, match="need the same keys"),
        intervene(model, patch=("decoder.0.cross", 1, "weights", None), source=run),
    ):
        family.run(model, here)


@torch.no_grad()
def test_a_source_run_is_one_call_over_whole_texts() -> None:
    model: Any = peers.gpt2()
    with pytest.raises(InputError, match="call the model once"), activations(model):
        model.generate(IDS, max_new_tokens=3, do_sample=False, pad_token_id=0)
    cache = model(IDS[:, :3]).past_key_values
    with pytest.raises(InputError, match="further rows"), activations(model):
        model(IDS[:, 3:], past_key_values=cache)
    recurrent = FAMILIES["recurrent attention"].model()
    with pytest.raises(InputError, match="recurrent"), activations(recurrent):
        pass
    with pytest.raises(KindError, match="from another run"), intervene(model, patch=("*", 0, "output", None)):
        pass
