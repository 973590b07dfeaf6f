"""Eval mode for the length of a block: without dropout within, and every module in its own mode after."""

from __future__ import annotations

import pytest
from torch import nn

from regard.models import Transformer, TransformerConfig
from regard.tasks.eval_mode import eval_mode


def small() -> Transformer:
    sizes = {"source_vocabulary": 9, "target_vocabulary": 9, "dim": 8, "heads": 2, "feedforward": 8}
    return Transformer(TransformerConfig(**sizes, encoder_layers=2, decoder_layers=1))


def modes(model: nn.Module) -> dict[str, bool]:
    return {name: module.training for name, module in model.named_modules()}


def test_frozen_parts_stay_frozen() -> None:
    """A person trains the decoder alone: what they put into eval mode is still there after a validation."""
    model = small()
    model.train()
    model.encoder.eval()
    before = modes(model)
    assert len(set(before.values())) == 2
    with eval_mode(model):
        assert not any(modes(model).values())
    assert modes(model) == before


def test_a_part_that_trains_in_a_model_that_does_not() -> None:
    model = small()
    model.eval()
    model.decoder.train()
    before = modes(model)
    with eval_mode(model):
        assert not any(modes(model).values())
    assert modes(model) == before


def test_an_error_within_changes_nothing() -> None:
    model = small()
    model.train()
    model.source.eval()
    before = modes(model)
    with pytest.raises(ZeroDivisionError), eval_mode(model):
        raise ZeroDivisionError
    assert modes(model) == before
