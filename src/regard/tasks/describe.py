"""What a model is, in words and numbers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from regard.errors import FileError
from regard.interop.folders import read_json, where
from regard.interop.huggingface import READERS
from regard.models.checkpoint import own_tensors, read_settings
from regard.tasks.model_folder import ModelFolder, find, tokenizer_of

SIZES = (
    "layers", "encoder_layers", "decoder_layers", "dim", "hidden", "heads", "feedforward", "vocabulary",
    "source_vocabulary", "target_vocabulary", "max_length",
)  # fmt: skip
THEIR_SIZES = (
    "num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers", "hidden_size", "n_embd",
    "d_model", "num_attention_heads", "n_head", "num_heads", "num_key_value_heads", "encoder_attention_heads",
    "intermediate_size", "vocab_size", "max_position_embeddings", "n_positions", "sliding_window",
)  # fmt: skip
KINDS = ("norm", "activation", "positions", "attention", "shared", "tied", "head", "labels")


def describe(name: str | Path) -> dict[str, Any]:
    """Family, sizes, parameters, tokenizer and origin of a model, and what its card says, if it has one."""
    location = where(name)
    folder = location.folder
    settings = read_settings(folder)
    kind = next(iter(settings.get("architectures") or ()), "")
    if settings.get("format") != "regard" and "model_type" in settings and kind not in READERS:
        return describe_other(folder, settings, kind)
    model_folder = find(folder)
    config = model_folder.model.config.to_dict()
    return {
        "folder": str(model_folder.folder),
        **({"note": location.note} if location.note else {}),
        "origin": model_folder.origin,
        "family": config["family"],
        "sizes": {size: config[size] for size in SIZES if size in config},
        "kind": {kind: config[kind] for kind in KINDS if config.get(kind) not in (None, ())},
        "parameters": sum(tensor.numel() for tensor in own_tensors(model_folder.model).values()),
        "tokenizer": tokenizer_words(model_folder),
        **training_record(model_folder.folder),
        **card(model_folder.folder),
    }


def describe_other(folder: Path, settings: dict[str, Any], kind: str) -> dict[str, Any]:
    """The same of a model of Hugging Face that ours do not equal, from its files alone."""
    texts = settings.get("text_config")
    sizes = {**settings, **texts} if isinstance(texts, dict) else settings
    return {
        "folder": str(folder),
        "origin": f"Hugging Face ({kind or 'no architecture named'})",
        "family": settings["model_type"],
        "sizes": {size: sizes[size] for size in THEIR_SIZES if sizes.get(size) is not None},
        "weights": sum(path.stat().st_size for path in folder.glob("*.safetensors")),
        "use": "regard look, record and heads show its attention, with transformers; ours do not equal it",
        **card(folder),
    }


def training_record(folder: Path) -> dict[str, Any]:
    """How it was trained and how well it did, where it was trained by us."""
    run, recipe = read_json(folder / "run.json"), folder / "recipe.toml"
    if not run or not recipe.is_file():
        return {}
    scores = {name: {key: round(value, 2) for key, value in row.items()} for name, row in run.get("scores", {}).items()}
    recipe_and_status = {
        "recipe": tomllib.loads(recipe.read_text(encoding="utf-8")).get("name", ""),
        "status": run.get("status"),
    }
    return {"trained": {**recipe_and_status, "steps": run.get("step")}, "scores": scores}


def card(folder: Path) -> dict[str, Any]:
    """What is told of a model beside it: text, scores, limits."""
    path = folder / "README.md"
    return {"card": path.read_text(encoding="utf-8", errors="replace")} if path.is_file() else {}


def tokenizer_words(model_folder: ModelFolder) -> str:
    try:
        tokenizer = tokenizer_of(model_folder)
    except FileError as error:
        return f"none ({error.found})"
    return f"{tokenizer.kind}, {tokenizer.size:,} tokens"
