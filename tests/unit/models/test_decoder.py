"""The decoder-only model against torch.nn's layers with the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.models import Decoder
from tests.bounds import close
from tests.families import FAMILIES, Family, decoder
from tests.unit.models.peers import future, stack

CONFIGS: dict[str, dict[str, Any]] = {
    "gpt": {},
    "post": {"norm": "post", "activation": "relu"},
    "sinusoidal, scaled": {"positions": "sinusoidal", "scaled": True, "activation": "silu"},
    "untied with bias": {"tied": False, "output_bias": True, "layers": 3, "heads": 2},
}


def peer(model: Decoder, ids: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
    x = model.embedding(ids, positions)
    for layer in stack(model.blocks, model.config):
        x = layer(x, src_mask=future(ids.shape[1]), src_key_padding_mask=None if mask is None else ~mask)
    matrix = model.embedding.table if model.output.linear is None else model.output.linear
    return model.norm(x) @ matrix.weight.T + (0.0 if model.output.bias is None else model.output.bias)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_torchs_stack_under_a_causal_mask(name: str, padded: bool, dtype: torch.dtype) -> None:
    family = Family("", decoder(**CONFIGS[name]), ())
    model = family.model(dtype=dtype)
    example = family.example(lengths=(6, 2, 4) if padded else (6, 6, 6))
    mask = example.mask if padded else None
    expected = peer(model, example.ids, positions(example.mask), mask)
    found = model(example.ids, mask)
    close(model, found[example.mask], expected[example.mask])


def positions(mask: Tensor) -> Tensor:
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def test_without_a_mask_every_id_is_a_word() -> None:
    family = FAMILIES["decoder"]
    model, example = family.model(pad=0), family.example()
    everything = torch.ones_like(example.mask)
    close(model, model(example.ids), model(example.ids, everything))


def test_the_output_is_tied_to_the_embedding_or_not() -> None:
    tied, untied = Decoder(decoder()), Decoder(decoder(tied=False))
    extra = sum(p.numel() for p in untied.parameters()) - sum(p.numel() for p in tied.parameters())
    assert extra == 19 * 16
    assert isinstance(untied.output.linear, nn.Linear)


def test_a_text_beyond_the_learned_positions_is_refused() -> None:
    model = Decoder(decoder(max_length=4))
    assert model(torch.full((1, 4), 5)).shape == (1, 4, 19)
    with pytest.raises(InputError, match="longer than the 4 positions"):
        model(torch.full((1, 5), 5))


def test_padding_takes_no_position() -> None:
    """Four positions are enough for four words, however far they are shifted."""
    model = Decoder(decoder(max_length=4)).eval()
    ids, mask = torch.tensor([[9, 9, 9, 5, 6, 7, 8]]), torch.tensor([[0, 0, 0, 1, 1, 1, 1]]).bool()
    close(model, model(ids, mask)[:, 3:], model(ids[:, 3:]))
