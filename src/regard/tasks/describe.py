"""What a model is, in words and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.errors import FileError
from regard.models.checkpoint import own_tensors
from regard.tasks.loading import Found, find, tokenizer_of

SIZES = (
    "layers", "encoder_layers", "decoder_layers", "dim", "hidden", "heads", "feedforward", "vocabulary",
    "source_vocabulary", "target_vocabulary", "max_length",
)  # fmt: skip
KINDS = ("norm", "activation", "positions", "attention", "shared", "tied", "head", "labels")


def describe(name: str | Path) -> dict[str, Any]:
    """Family, sizes, parameters, tokenizer and origin of a model."""
    found = find(name)
    config = found.model.config.to_dict()
    return {
        "folder": str(found.folder),
        "origin": found.origin,
        "family": config["family"],
        "sizes": {size: config[size] for size in SIZES if size in config},
        "kind": {kind: config[kind] for kind in KINDS if config.get(kind) not in (None, ())},
        "parameters": sum(tensor.numel() for tensor in own_tensors(found.model).values()),
        "tokenizer": tokenizer_words(found),
    }


def tokenizer_words(found: Found) -> str:
    try:
        tokenizer = tokenizer_of(found)
    except FileError as error:
        return f"none ({error.found})"
    return f"{tokenizer.kind}, {tokenizer.size:,} tokens"
