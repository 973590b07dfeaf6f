"""Decoder-only models of Hugging Face: GPT-2. Its matrices lie on their side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.interop.settings import Foreign, Settings, demand
from regard.interop.tensor_mapping import TensorMapping, give, layer, ours_of, take
from regard.models import Decoder, DecoderConfig
from regard.models.checkpoint import check_room, fill

DEFAULTS: dict[str, Any] = {
    "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
    "activation_function": "gelu_new", "resid_pdrop": 0.1, "attn_pdrop": 0.1, "layer_norm_epsilon": 1e-5,
    "eos_token_id": 50256, "tie_word_embeddings": True,
}  # fmt: skip
NEUTRAL = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
PREFIX, HEAD = "transformer.", "lm_head.weight"


def read_gpt2(config: dict[str, Any], tensors: dict[str, Tensor], folder: Path) -> Decoder:
    """Our decoder with their logits."""
    settings = Settings(config, DEFAULTS)
    settings.refuse(NEUTRAL)
    theirs = {name.removeprefix(PREFIX): tensor for name, tensor in tensors.items()}
    ours = our_config(settings, untied=HEAD in theirs)
    check_room(ours)
    return fill(Decoder(ours), take(links(ours), theirs, folder), folder)


def our_config(settings: Settings, *, untied: bool) -> DecoderConfig:
    vocabulary, end, pad = settings["vocab_size"], settings.end(), settings["pad_token_id"]
    return DecoderConfig(
        dim=settings["n_embd"],
        heads=settings["n_head"],
        feedforward=settings["n_inner"] or 4 * settings["n_embd"],
        dropout=settings["resid_pdrop"],
        attention_dropout=settings["attn_pdrop"],
        activation=settings.activation("activation_function"),
        epsilon=settings["layer_norm_epsilon"],
        max_length=settings["n_positions"],
        vocabulary=vocabulary,
        layers=settings["n_layer"],
        tied=bool(settings["tie_word_embeddings"]) or not untied,
        pad=pad if pad is not None and 0 <= pad < vocabulary else None,
        end=end if end is not None and 0 <= end < vocabulary else None,  # small models keep the id of large ones
    )


def write(model: Decoder) -> Foreign:
    """Our decoder as a GPT-2."""
    config = model.config
    demand(config.norm == "pre", "GPT-2 has its norms before the sublayers", actual="norm='post'", do='norm = "pre"')
    demand(
        config.positions == "learned",
        "GPT-2 has learned positions only",
        actual=f"positions={config.positions!r}",
        do='train with positions = "learned" to export',
    )
    for name in ("scaled", "output_bias"):
        demand(
            not getattr(config, name), f"GPT-2 has no {name}", actual=f"{name}=True", do=f"train with {name} = false"
        )
    tensors = give(links(config), ours_of(model))
    named = {name if name == HEAD else PREFIX + name: tensor for name, tensor in tensors.items()}
    return Foreign(their_config(config), named)


def their_config(config: DecoderConfig) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": config.vocabulary,
        "n_positions": config.max_length,
        "n_embd": config.dim,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": config.feedforward,
        "activation_function": config.activation,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
        "layer_norm_epsilon": config.epsilon,
        "tie_word_embeddings": config.tied,
        "bos_token_id": config.end,
        "eos_token_id": config.end,
        "pad_token_id": config.pad,
        "dtype": "float32",
    }


def links(config: DecoderConfig) -> Iterator[TensorMapping]:
    """Which tensor is which, without their prefix."""
    yield TensorMapping("embedding.table.weight", ("wte.weight",))
    yield TensorMapping("embedding.places.weight", ("wpe.weight",))
    for number in range(config.layers):
        ours, theirs = f"blocks.{number}", f"h.{number}"
        yield from layer(f"{ours}.self_residual.norm", f"{theirs}.ln_1")
        yield from layer(f"{ours}.self_attention.qkv", f"{theirs}.attn.c_attn", transposed=True)
        yield from layer(f"{ours}.self_attention.out", f"{theirs}.attn.c_proj", transposed=True)
        yield from layer(f"{ours}.feedforward_residual.norm", f"{theirs}.ln_2")
        yield from layer(f"{ours}.feedforward.up", f"{theirs}.mlp.c_fc", transposed=True)
        yield from layer(f"{ours}.feedforward.down", f"{theirs}.mlp.c_proj", transposed=True)
    yield from layer("norm", "ln_f")
    if not config.tied:
        yield TensorMapping("output.linear.weight", (HEAD,))
