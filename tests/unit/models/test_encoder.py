"""The encoder-only model against torch.nn's layers with the same weights, and its heads."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.models import Encoder
from regard.models.layers import ACTIVATIONS
from tests.bounds import close
from tests.families import FAMILIES, LABELS, Family, encoder
from tests.unit.models.peers import stack

PRECISIONS = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {},
    "pre": {"norm": "pre", "activation": "relu"},
    "sinusoidal": {"positions": "sinusoidal", "segments": 0},
    "wide epsilon": {"epsilon": 1e-3, "layers": 3, "heads": 2, "activation": "gelu_new"},
}


def peer(model: Encoder, ids: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
    x = model.embedding(ids, torch.arange(ids.shape[1]))
    x = x if model.segments is None else x + model.segments.weight[segments]
    x = model.embedding_norm(x)
    for layer in stack(model.blocks, model.config):
        x = layer(x, src_key_padding_mask=~mask)
    return model.norm(x)


def segments_of(example: Any) -> Tensor:
    return (torch.arange(example.ids.shape[1]) >= 2).long().expand_as(example.ids)


@PRECISIONS
@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_torchs_encoder(name: str, dtype: torch.dtype) -> None:
    family = Family("", encoder(**CONFIGS[name]), ())
    model, example = family.model(dtype=dtype), family.example(lengths=(6, 2, 4))
    segments = segments_of(example)
    expected = peer(model, example.ids, example.mask, segments)
    found = model(example.ids, example.mask, segments)
    close(model, found[example.mask], expected[example.mask])


def test_segments_are_the_first_unless_told() -> None:
    family = FAMILIES["encoder"]
    model, example = family.model(), family.example()
    first = torch.zeros_like(example.ids)
    assert torch.equal(model(example.ids, example.mask), model(example.ids, example.mask, first))
    assert not torch.allclose(model(example.ids, example.mask, first + 1), model(example.ids, example.mask), atol=1e-3)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("encoder", (3, 6, 16)), ("encoder mask", (3, 6, 19)), ("encoder class", (3, 3)), ("encoder class plain", (3, 3))],
)
def test_each_head_gives_its_shape(name: str, shape: tuple[int, ...]) -> None:
    family = FAMILIES[name]
    assert family.run(family.model(), family.example()).shape == shape


def test_the_mask_head_is_dense_norm_and_the_table() -> None:
    family = FAMILIES["encoder mask"]
    model, example = family.model(dtype=torch.float64), family.example()
    head, x = model.mask_head, model.encode(example.ids, example.mask)
    inner = head.norm(torch.nn.functional.gelu(x @ head.dense.weight.T + head.dense.bias))
    expected = inner @ model.embedding.table.weight.T + head.output.bias
    close(model, family.run(model, example), expected)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("pooled", [True, False])
def test_the_class_head_hears_the_first_word(pooled: bool, activation: str) -> None:
    config = encoder(head="class", labels=LABELS, pooled=pooled, pooling_activation=activation)
    family = Family("", config, ())
    model, example = family.model(dtype=torch.float64), family.example()
    first = model.encode(example.ids, example.mask)[:, 0]
    if pooled:
        first = ACTIVATIONS[activation](first @ model.pooler.weight.T + model.pooler.bias)
    expected = first @ model.class_head.weight.T + model.class_head.bias
    close(model, family.run(model, example), expected)


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("head", ["none", "mask", "class"])
def test_only_what_the_head_needs_is_built(head: str, pooled: bool) -> None:
    model = Encoder(encoder(head=head, labels=LABELS, pooled=pooled))
    assert (model.mask_head is not None) == (head == "mask")
    assert (model.class_head is not None) == (head == "class")
    assert (model.pooler is not None) == (pooled and head != "mask")
