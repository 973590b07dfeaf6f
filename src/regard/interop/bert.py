"""Encoder-only models of Hugging Face: BERT, bare, filling in masks, or classifying."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.interop.settings import Foreign, Settings, demand
from regard.interop.tensor_mapping import TensorMapping, give, layer, ours_of, take
from regard.models import Encoder, EncoderConfig
from regard.models.checkpoint import check_room, fill

DEFAULTS: dict[str, Any] = {
    "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
    "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "tie_word_embeddings": True,
}  # fmt: skip
NEUTRAL = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
HEADS = {"BertModel": "none", "BertForMaskedLM": "mask", "BertForSequenceClassification": "class"}
PREFIX, HEAD_NAMES = "bert.", ("cls.", "classifier.")
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
POOLER = "pooler.dense.weight"


def read_bert(config: dict[str, Any], tensors: dict[str, Tensor], folder: Path) -> Encoder:
    """Our encoder with their logits."""
    settings = Settings(config, DEFAULTS)
    settings.refuse(NEUTRAL)
    head = HEADS[config["architectures"][0]]
    if head == "mask":
        settings.refuse({"tie_word_embeddings": True})
    if head == "class":
        settings.refuse({"problem_type": "single_label_classification"})
        demand(
            len(settings["id2label"]) > 1,
            "a model with one label measures, it does not classify",
            actual="one label in config.json",
            do="use a model with at least two classes",
        )
    theirs = {new_name(name): tensor for name, tensor in tensors.items()}
    ours = our_config(settings, head, pooled=head == "class" or POOLER in theirs)
    check_room(ours)
    return fill(Encoder(ours), take(links(ours), theirs, folder), folder)


def new_name(name: str) -> str:
    """Without the prefix that some files have, and by the newer name of a norm's numbers."""
    name = name.removeprefix(PREFIX)
    for old, new in OLD_NAMES.items():
        name = name.replace(old, new)
    return name


def our_config(settings: Settings, head: str, *, pooled: bool) -> EncoderConfig:
    names = {int(number): str(name) for number, name in settings["id2label"].items()}
    return EncoderConfig(
        dim=settings["hidden_size"],
        heads=settings["num_attention_heads"],
        feedforward=settings["intermediate_size"],
        dropout=settings["hidden_dropout_prob"],
        attention_dropout=settings["attention_probs_dropout_prob"],
        activation=settings.activation("hidden_act"),
        epsilon=settings["layer_norm_eps"],
        max_length=settings["max_position_embeddings"],
        pad=settings["pad_token_id"],
        vocabulary=settings["vocab_size"],
        layers=settings["num_hidden_layers"],
        segments=settings["type_vocab_size"],
        head=head,
        labels=tuple(names[number] for number in sorted(names)) if head == "class" else (),
        pooled=pooled,
    )


def write(model: Encoder) -> Foreign:
    """Our encoder as a BERT."""
    config = model.config
    demand(
        config.norm == "post", "BERT has its norms after the sums", actual="norm='pre'", do='train with norm = "post"'
    )
    demand(
        config.positions == "learned",
        "BERT has learned positions only",
        actual=f"positions={config.positions!r}",
        do='train with positions = "learned" to export',
    )
    if config.head == "class":
        demand(
            config.pooled and config.pooling_activation == "tanh",
            "a BERT classifier pools with a dense layer and tanh",
            actual=f"pooled={config.pooled}, pooling_activation={config.pooling_activation!r}",
            do='train with pooled = true and pooling_activation = "tanh" to export',
        )
    tensors = give(links(config), ours_of(model))
    if not config.segments:  # theirs always adds one: a vector of zeros changes nothing
        tensors["embeddings.token_type_embeddings.weight"] = torch.zeros(1, config.dim)
    prefix = "" if config.head == "none" else PREFIX
    named = {name if name.startswith(HEAD_NAMES) else prefix + name: tensor for name, tensor in tensors.items()}
    return Foreign(their_config(config), named)


def their_config(config: EncoderConfig) -> dict[str, Any]:
    labels = dict(enumerate(config.labels))
    return {
        "architectures": [name for name, head in HEADS.items() if head == config.head],
        "model_type": "bert",
        "vocab_size": config.vocabulary,
        "hidden_size": config.dim,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.feedforward,
        "hidden_act": config.activation,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "max_position_embeddings": config.max_length,
        "type_vocab_size": config.segments or 1,
        "layer_norm_eps": config.epsilon,
        "pad_token_id": config.pad,
        "tie_word_embeddings": True,
        **({"id2label": labels, "label2id": {name: number for number, name in labels.items()}} if labels else {}),
        "dtype": "float32",
    }


def links(config: EncoderConfig) -> Iterator[TensorMapping]:
    """Which tensor is which, without their prefix."""
    yield TensorMapping("embedding.table.weight", ("embeddings.word_embeddings.weight",))
    yield TensorMapping("embedding.places.weight", ("embeddings.position_embeddings.weight",))
    if config.segments:
        yield TensorMapping("segments.weight", ("embeddings.token_type_embeddings.weight",))
    yield from layer("embedding_norm", "embeddings.LayerNorm")
    for number in range(config.layers):
        yield from block_links(f"blocks.{number}", f"encoder.layer.{number}")
    if config.pooled and config.head != "mask":
        yield from layer("pooler", "pooler.dense")
    if config.head == "mask":
        yield from layer("mask_head.dense", "cls.predictions.transform.dense")
        yield from layer("mask_head.norm", "cls.predictions.transform.LayerNorm")
        yield TensorMapping("mask_head.output.bias", ("cls.predictions.bias",))
    if config.head == "class":
        yield from layer("class_head", "classifier")


def block_links(ours: str, theirs: str) -> Iterator[TensorMapping]:
    yield from layer(
        f"{ours}.self_attention.qkv", *(f"{theirs}.attention.self.{part}" for part in ("query", "key", "value"))
    )
    yield from layer(f"{ours}.self_attention.out", f"{theirs}.attention.output.dense")
    yield from layer(f"{ours}.self_residual.norm", f"{theirs}.attention.output.LayerNorm")
    yield from layer(f"{ours}.feedforward.up", f"{theirs}.intermediate.dense")
    yield from layer(f"{ours}.feedforward.down", f"{theirs}.output.dense")
    yield from layer(f"{ours}.feedforward_residual.norm", f"{theirs}.output.LayerNorm")
