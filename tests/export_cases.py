"""Folders of ours that are small and say different things: what exports are tried on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from regard.models import DecoderConfig, EncoderConfig, TransformerConfig, build, save_model
from regard.text.bpe import END, START, train_tokenizer
from tests.training_cases import numbers

SMALL: dict[str, Any] = {"dim": 16, "heads": 2, "feedforward": 24, "max_length": 64, "dropout": 0.0}
LAYERS = {"encoder_layers": 2, "decoder_layers": 1}
LINES = [text for pair in numbers(60) for text in pair]


def folder_of(kind: str, place: Path, *, fold: bool = False, **more: Any) -> Path:
    """A folder of ours: a model whose weights vary enough to say different things, and a tokenizer."""
    around = {"transformer": ("$A", END), "decoder": ("$A",), "encoder": (START, "$A", END)}[kind]
    tokenizer = train_tokenizer(LINES, 300, around=around, mask=more.get("head") == "mask", fold=fold)
    sizes: dict[str, Any] = {"vocabulary": tokenizer.size}
    if kind == "transformer":
        sizes = {"source_vocabulary": tokenizer.size, "target_vocabulary": tokenizer.size, **LAYERS}
    classes = {"transformer": TransformerConfig, "decoder": DecoderConfig, "encoder": EncoderConfig}
    layers = {} if kind == "transformer" else {"layers": 2}
    torch.manual_seed(3)
    model = build(classes[kind](**{**SMALL, **sizes, **layers, **more}))
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.add_(torch.randn_like(tensor) * 0.3)
    save_model(model, place)
    tokenizer.save(place / "tokenizer.json")
    return place
