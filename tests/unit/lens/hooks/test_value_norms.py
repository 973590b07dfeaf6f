"""The norm of each value through W_O is that of a direct computation, and W_O is never another matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.decoding.cache import KeyValueCache
from regard.lens.assembly.recorder import CallSteps
from regard.lens.recording.map import Map
from regard.lens.watch import watch
from tests.families import FAMILIES

CLOSE = {"atol": 1e-5, "rtol": 1e-4}


@contextmanager
def outputs_of(module: nn.Module) -> Iterator[list[Tensor]]:
    """What a layer gave, each time it was called."""
    found: list[Tensor] = []
    handle = module.register_forward_hook(lambda _, __, output: found.append(output.detach()))
    try:
        yield found
    finally:
        handle.remove()


def direct(values: Tensor, matrix: Tensor, heads: int) -> Tensor:
    """(B, H, K): values (B, K, key heads x V) through W_O (model dim, H x V), one head after another."""
    width = matrix.shape[1] // heads
    served = values.unflatten(-1, (-1, width)).transpose(1, 2).double()
    group = heads // served.shape[1]
    return torch.stack([
        (served[:, head // group] @ matrix[:, head * width : (head + 1) * width].T.double()).norm(dim=-1)
        for head in range(heads)
    ], 1)  # fmt: skip


def check(one: Map, expected: Tensor, *, projected: bool = True) -> None:
    assert one.norms is not None
    assert one.projected is projected
    torch.testing.assert_close(one.norms.double(), expected, **CLOSE)


# Ours


@pytest.mark.parametrize("site", ["encoder.0.self", "decoder.1.self", "decoder.0.cross"])
def test_of_our_transformer(site: str) -> None:
    family = FAMILIES["transformer post"]
    model, example = family.model(), family.example()
    module = next(part for part in model.modules() if getattr(getattr(part, "seam", None), "site", None) == site)
    given: list[Tensor] = []
    with watch(model) as seen, module.seam.hooked(spy(given), innermost=True):
        family.run(model, example)
    value = given[0].transpose(1, 2).flatten(2)
    check(seen.last.map(site), direct(value, module.out.weight, 4))


def spy(given: list[Tensor]) -> Callable[..., Tensor]:
    def listen(site: str, call: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        given.append(value.detach())
        return call(query, key, value, **options)

    return listen


def test_of_bahdanau_s_there_is_no_matrix() -> None:
    family = FAMILIES["recurrent attention"]
    model, example = family.model(), family.example()
    state = model.start(example.ids, example.mask)
    with watch(model) as seen:
        family.run(model, example)
    assert state.memory is not None
    check(seen.last.map("decoder.0.cross"), state.memory.double().norm(dim=-1)[:, None], projected=False)


def test_of_a_text_read_with_a_cache_they_are_those_of_one_pass() -> None:
    family = FAMILIES["decoder"]
    model, ids = family.model(), family.example((7,)).ids
    with watch(model) as whole, torch.no_grad():
        model(ids)
    cache = KeyValueCache()
    with watch(model) as stepwise, torch.no_grad():
        for start, stop in ((0, 3), (3, 4), (4, 6), (6, 7)):
            model(ids[:, start:stop], None, cache)
            cache.length = stop
    for site in whole.sites:
        one, other = whole.last.map(site), stepwise.last.map(site)
        assert one.norms is not None
        check(other, one.norms.double())


# Others'


def hub(name: str) -> Any:
    pytest.importorskip("transformers", reason="transformers is not installed")
    from benchmarks import zoo

    return zoo.MODELS[name]().eval()


IDS = torch.randint(3, 12, (2, 6), generator=torch.Generator().manual_seed(0))
# Of each: the site, the layer that gives values, the one that W_O is, and the heads.
THEIRS = {
    "Llama, grouped heads": ("model.layers.1.self_attn", "v_proj", "o_proj", 4),
    "BERT": ("bert.encoder.layer.1.attention.self", "value", "../output.dense", 4),
    "RoBERTa": ("roberta.encoder.layer.0.attention.self", "value", "../output.dense", 4),
    "T5": ("encoder.block.1.layer.0.SelfAttention", "v", "o", 2),
    "BART": ("model.decoder.layers.1.encoder_attn", "v_proj", "out_proj", None),
}


@pytest.mark.parametrize("name", THEIRS)
def test_of_hugging_face_s(name: str) -> None:
    model = hub(name)
    site, value, out, heads = THEIRS[name]
    module = model.get_submodule(site)
    above = model.get_submodule(site.rpartition(".")[0])
    matrix = (above if out.startswith("../") else module).get_submodule(out.removeprefix("../")).weight
    more = {"decoder_input_ids": IDS[:, :4]} if name in ("T5", "BART") else {}
    with outputs_of(module.get_submodule(value)) as values, watch(model) as seen, torch.no_grad():
        model(input_ids=IDS, **more)
    one = seen.last.map(site)
    check(one, direct(values[0], matrix, heads or len(one.heads)))


def test_of_gpt2_whose_matrices_lie_on_their_side() -> None:
    model = hub("GPT-2")
    module = model.transformer.h[1].attn
    with outputs_of(module.c_attn) as joined, watch(model) as seen, torch.no_grad():
        model(input_ids=IDS)
    check(seen.last.map("transformer.h.1.attn"), direct(joined[0].chunk(3, -1)[2], module.c_proj.weight.T, 2))


@pytest.mark.parametrize("name", ["GPT-2", "Llama, grouped heads"])
def test_of_a_generation_they_are_those_of_one_pass(name: str) -> None:
    model = hub(name)
    with watch(model) as seen, torch.no_grad():
        ids = model.generate(IDS[:1], max_new_tokens=5, do_sample=False, pad_token_id=0)
    with watch(model) as whole, torch.no_grad():
        model(input_ids=ids[:, :-1])
    for site in whole.sites:
        norms = whole.last.map(site).norms
        assert norms is not None
        assert norms.shape[-1] == 10
        check(seen.last.map(site), norms.double())


@pytest.mark.parametrize("dtype", [None, "float16"])
def test_of_some_heads_in_half_the_bytes_they_are_the_same(dtype: str | None) -> None:
    model = hub("Llama, grouped heads")
    with watch(model, heads=[3, 1], dtype=dtype) as some, watch(model) as whole, torch.no_grad():
        model(input_ids=IDS)
    for site in whole.sites:
        norms = whole.last.map(site).norms
        assert norms is not None
        check(some.last.map(site), norms[:, [3, 1]].double())
        assert some.last.weights(site, 1, by="value").shape == (6, 6)


def families() -> list[str]:
    try:
        from benchmarks import zoo
    except ImportError:
        return []
    return list(zoo.MODELS)


@pytest.mark.parametrize("name", families())
def test_the_layer_taken_for_w_o_is_given_what_the_heads_put_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.watch_matrix import inputs

    model, captures = hub(name), []
    given: dict[int, list[Tensor]] = {}  # by where a layer's matrix lies
    add = CallSteps.add
    monkeypatch.setattr(CallSteps, "add", lambda self, one: (captures.append(one), add(self, one))[1])
    for part in model.modules():
        if isinstance(part, nn.Linear) or type(part).__name__ == "Conv1D":
            part.register_forward_pre_hook(
                lambda layer, args: given.setdefault(layer.weight.data_ptr(), []).append(args[0].flatten())
            )
    read = inputs(model, "plain")
    if getattr(model.config, "is_encoder_decoder", False):
        read["decoder_input_ids"] = IDS[:, :4]
    with watch(model), torch.no_grad():
        model(**read)
    assert captures
    for capture in captures:
        assert capture.projection is not None
        output = capture.output.transpose(1, 2).flatten()
        candidates = [one for one in given[capture.projection.data_ptr()] if one.shape == output.shape]
        assert any(torch.allclose(one, output, atol=1e-5) for one in candidates), capture.site


# PyTorch's


def test_of_multihead_attention() -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(12, 3, batch_first=True).eval()
    x = torch.randn(2, 5, 12)
    with watch(module) as seen, torch.no_grad():
        module(x, x, x)
    values = F.linear(x, module.in_proj_weight[24:], module.in_proj_bias[24:]).detach()
    check(seen.last.map("MultiheadAttention"), direct(values, module.out_proj.weight.detach(), 3))


class Plain(nn.Module):
    """Attention with layers of any names."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.into = nn.Linear(8, 24)
        self.last = names[0]
        for name in names:
            self.add_module(name, nn.Linear(8, 8))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.into(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        joined: Tensor = self.get_submodule(self.last)(mixed)
        return joined


@pytest.mark.parametrize(
    ("names", "known"),
    [(("wo",), True), (("out_proj",), True), (("merge",), False), (("wo", "dense"), False), (("wo", "merge"), True)],
)
def test_a_matrix_is_known_by_its_name_and_only_if_no_other_could_be_meant(names: tuple[str, ...], known: bool) -> None:
    torch.manual_seed(0)
    module, x = Plain(*names).eval(), torch.randn(2, 5, 8)
    with outputs_of(module.into) as joined, watch(module) as seen, torch.no_grad():
        module(x)
    values, one = joined[0].chunk(3, -1)[2], seen.last.map("Plain")
    alone = values.unflatten(-1, (2, 4)).transpose(1, 2).double().norm(dim=-1)
    check(one, direct(values, module.get_submodule(names[0]).weight.detach(), 2) if known else alone, projected=known)
    assert ("|v W_O|" if known else "|v|,") in seen.to_svg(site="Plain", head=0, by="value")


def test_a_matrix_of_another_width_is_not_it() -> None:
    module = Plain("merge")
    module.proj = nn.Linear(16, 8)
    with watch(module) as seen, torch.no_grad():
        module(torch.randn(1, 3, 8))
    assert not seen.last.map("Plain").projected
