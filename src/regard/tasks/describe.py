"""What a model is, in words and numbers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from regard.errors import FileError
from regard.interop.folders import read_json
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
        **trained(found.folder),
    }


def trained(folder: Path) -> dict[str, Any]:
    """How it was trained and how well it did, where it was trained by us."""
    run, recipe = read_json(folder / "run.json"), folder / "recipe.toml"
    if not run or not recipe.is_file():
        return {}
    scores = {name: {key: round(value, 2) for key, value in row.items()} for name, row in run.get("scores", {}).items()}
    said = {"recipe": tomllib.loads(recipe.read_text(encoding="utf-8")).get("name", ""), "status": run.get("status")}
    return {"trained": {**said, "steps": run.get("step")}, "scores": scores}


def tokenizer_words(found: Found) -> str:
    try:
        tokenizer = tokenizer_of(found)
    except FileError as error:
        return f"none ({error.found})"
    return f"{tokenizer.kind}, {tokenizer.size:,} tokens"
