"""The Transformer against torch.nn's layers with the same weights, and how its tables are shared."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.models import Transformer
from tests.bounds import close
from tests.families import FAMILIES, Family, settled, transformer
from tests.unit.models.peers import future, stack, weights

PRECISIONS = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
CONFIGS = {
    "post": {},
    "pre": {"norm": "pre"},
    "pre, silu, one head": {"norm": "pre", "activation": "silu", "heads": 1},
    "gelu, learned, untied": {"activation": "gelu", "positions": "learned", "tied": False, "output_bias": True},
    "unlike halves": {"shared": False, "encoder_layers": 1, "decoder_layers": 3, "epsilon": 1e-3},
}


def family_of(changes: dict[str, Any]) -> Family:
    return Family("", transformer(**changes), ())


def peer_encode(model: Transformer, x: Tensor, mask: Tensor | None) -> Tensor:
    for layer in stack(model.encoder, model.config):
        x = layer(x, src_key_padding_mask=None if mask is None else ~mask)
    return model.encoder_norm(x)


def peer_decode(model: Transformer, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
    hidden = None if mask is None else ~mask
    for layer in stack(model.decoder, model.config, cross=True):
        x = layer(x, memory, tgt_mask=future(x.shape[1]), memory_key_padding_mask=hidden)
    x = model.decoder_norm(x)
    matrix = model.target.table if model.output.linear is None else model.output.linear
    return x @ matrix.weight.T + (0.0 if model.output.bias is None else model.output.bias)


@PRECISIONS
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_torchs_transformer(name: str, padded: bool, dtype: torch.dtype) -> None:
    family = family_of(CONFIGS[name])
    model = family.model(dtype=dtype)
    example = family.example(lengths=(6, 2, 4) if padded else (6, 6, 6))
    mask = example.mask if padded else None
    memory = peer_encode(model, model.source(example.ids, torch.arange(6)), mask)
    found = model.encode(example.ids, mask)
    close(model, found[example.mask], memory[example.mask])
    expected = peer_decode(model, model.target(example.target, torch.arange(5)), memory, mask)
    close(model, family.run(model, example), expected)


@PRECISIONS
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_its_stacks_are_those_of_nn_transformer(norm: str, dtype: torch.dtype) -> None:
    """The whole module at once. It has final norms; ours has them only where norms come first."""
    family = family_of({"norm": norm})
    model, example = family.model(dtype=dtype), family.example(lengths=(6, 2, 4))
    x, y = model.source(example.ids, torch.arange(6)), model.target(example.target, torch.arange(5))
    hidden = ~example.mask
    found = peer_of(model, dtype)(
        x, y, tgt_mask=future(5), src_key_padding_mask=hidden, memory_key_padding_mask=hidden, tgt_is_causal=True
    )
    logits = found @ model.target.table.weight.T
    close(model, family.run(model, example), logits)


def peer_of(model: Transformer, dtype: torch.dtype) -> nn.Transformer:
    peer = nn.Transformer(16, 4, 2, 2, 24, 0.0, batch_first=True, norm_first=model.config.norm == "pre", dtype=dtype)
    for ours, theirs in ((model.encoder, peer.encoder), (model.decoder, peer.decoder)):
        for block, layer in zip(ours, theirs.layers, strict=True):
            layer.load_state_dict(weights(block))
    peer.encoder.norm, peer.decoder.norm = model.encoder_norm, model.decoder_norm
    return peer


# Tables


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_tables_are_shared_and_tied_as_told(shared: bool, tied: bool) -> None:
    model = Transformer(transformer(shared=shared, tied=tied))
    assert (model.source.table is model.target.table) == shared
    assert (model.output.linear is None) == tied
    tables = 2 - shared + (not tied)
    assert sum(p.numel() for p in model.parameters() if p.shape == (19, 16)) == tables * 19 * 16


def test_tied_logits_move_with_the_embedding() -> None:
    model = settled(Transformer(transformer(norm="pre", scaled=False))).eval()
    source, target = torch.tensor([[4, 5]]), torch.tensor([[1, 6]])
    before = model(source, target)
    with torch.no_grad():
        model.target.table.weight[11] *= 2
    after = model(source, target)
    torch.testing.assert_close(after[..., 11], 2 * before[..., 11])
    assert torch.equal(after[..., :11], before[..., :11])


def test_separate_vocabularies() -> None:
    model = Transformer(transformer(shared=False, source_vocabulary=7, target_vocabulary=30)).eval()
    assert model(torch.tensor([[6, 5]]), torch.tensor([[1, 29, 28]])).shape == (1, 3, 30)


# Masks and lengths


def test_a_mask_comes_from_the_id_of_padding() -> None:
    source = torch.tensor([[4, 0, 5, 0]])
    assert Transformer(transformer()).mask_of(source).tolist() == [[True, False, True, False]]
    assert Transformer(transformer(pad=5)).mask_of(source).tolist() == [[True, True, False, True]]
    assert Transformer(transformer(pad=None)).mask_of(source) is None


def test_padding_inside_the_source_is_no_word() -> None:
    family = FAMILIES["transformer post"]
    model = family.model()
    target = torch.tensor([[1, 7, 8]])
    gaps, dense = (model(torch.tensor([ids]), target) for ids in ([0, 4, 0, 0, 5, 6], [4, 5, 6]))
    close(model, gaps, dense)


def test_reading_then_saying_is_the_forward() -> None:
    family = FAMILIES["transformer pre"]
    model, example = family.model(), family.example()
    memory = model.encode(example.ids, example.mask)
    assert memory.shape == (3, 6, 16)
    assert torch.equal(model.decode(example.target, memory, example.mask), family.run(model, example))


def test_texts_beyond_the_learned_positions_are_refused() -> None:
    model = Transformer(transformer(positions="learned", max_length=4))
    short, long = torch.full((1, 4), 5), torch.full((1, 5), 5)
    assert model(short, short).shape == (1, 4, 19)
    for source, target in ((long, short), (short, long)):
        with pytest.raises(InputError, match="longer than the 4 positions"):
            model(source, target)
