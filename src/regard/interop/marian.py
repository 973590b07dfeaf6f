"""Encoder-decoders of Hugging Face: MarianMT (norms after the sum) and Pegasus (norms before).

Their sinusoids come as halves, all sines then all cosines; ours alternate, as in the paper. So every vector of the
model is written in another order of its coordinates: an exact change of basis, not an approximation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import InputError
from regard.interop.settings import Foreign, Settings, demand
from regard.interop.tensor_mapping import TensorMapping, give, layer, ours_of, take
from regard.models import Transformer, TransformerConfig
from regard.models.checkpoint import check_room, fill
from regard.models.layers import sinusoids

DEFAULTS: dict[str, Any] = {
    "d_model": 1024, "max_position_embeddings": 1024, "encoder_layers": 12, "decoder_layers": 12,
    "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
    "activation_function": "gelu", "dropout": 0.1, "attention_dropout": 0.0, "activation_dropout": 0.0,
    "scale_embedding": False, "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True,
}  # fmt: skip
MARIAN = {**DEFAULTS, "vocab_size": 58101, "pad_token_id": 58100, "eos_token_id": 0, "decoder_start_token_id": 58100}
PEGASUS = {**DEFAULTS, "vocab_size": 50265, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
EPSILON = 1e-5  # fixed in both
SHARED, SOURCE, TARGET, HEAD = (
    "model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight",
)  # fmt: skip
POSITION_TABLES = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


def read_marian(config: dict[str, Any], tensors: dict[str, Tensor], folder: Path) -> Transformer:
    return read(Settings(config, MARIAN), tensors, folder, norm="post")


def read_pegasus(config: dict[str, Any], tensors: dict[str, Tensor], folder: Path) -> Transformer:
    return read(Settings(config, PEGASUS), tensors, folder, norm="pre")


def read(settings: Settings, tensors: dict[str, Tensor], folder: Path, *, norm: str) -> Transformer:
    """Our Transformer with their logits."""
    theirs = with_tables(settings, tensors)
    config = our_config(settings, theirs, norm)
    for name in POSITION_TABLES:
        if name in theirs and not torch.allclose(theirs[name].float(), their_positions(*theirs[name].shape), atol=1e-6):
            raise InputError(
                "the positions of this model are not the sinusoids",
                found=f"{name} holds other numbers",
                do="use a model with sinusoidal positions",
            )
    ours = take(links(config), theirs, folder)
    back = order(config.dim).argsort()
    check_room(config)
    return fill(Transformer(config), {name: in_order(name, tensor, back) for name, tensor in ours.items()}, folder)


def with_tables(settings: Settings, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The source's, the target's and the output's matrix each under its own name, wherever the file has them.

    Tied weights are written once; a model that is not tied may have three different ones even where its config.json
    calls them shared. So what is shared is told from the tensors, not from the words.
    """
    full = dict(tensors)
    joint = bool(settings["share_encoder_decoder_embeddings"])
    tied = bool(settings["tie_word_embeddings"])
    for name in (SOURCE, TARGET):
        if SHARED in full and ((joint and tied) or name not in full):
            full[name] = full[SHARED]
    if (tied or HEAD not in full) and TARGET in full:
        full[HEAD] = full[TARGET]
    if "final_logits_bias" in full:
        full["final_logits_bias"] = full["final_logits_bias"].flatten()
    return full


def our_config(settings: Settings, theirs: dict[str, Tensor], norm: str) -> TransformerConfig:
    source, target, head = (theirs.get(name) for name in (SOURCE, TARGET, HEAD))
    bias = theirs.get("final_logits_bias")
    pad = settings["pad_token_id"]
    start, end = settings["decoder_start_token_id"], settings.end()
    if end is None or (start is None and pad is None):
        raise InputError(
            "this model does not say where a text starts or ends",
            found=f"decoder_start_token_id={start}, eos_token_id={end} in config.json",
            do="add both ids to config.json",
        )
    return TransformerConfig(
        dim=settings["d_model"],
        heads=settings.same("encoder_attention_heads", "decoder_attention_heads"),
        feedforward=settings.same("encoder_ffn_dim", "decoder_ffn_dim"),
        dropout=settings["dropout"],
        attention_dropout=settings["attention_dropout"],
        feedforward_dropout=settings["activation_dropout"],
        norm=norm,
        activation=settings.activation("activation_function"),
        epsilon=EPSILON,
        max_length=settings["max_position_embeddings"],
        pad=pad,
        source_vocabulary=settings["vocab_size"] if source is None else len(source),
        target_vocabulary=settings["vocab_size"] if target is None else len(target),
        encoder_layers=settings["encoder_layers"],
        decoder_layers=settings["decoder_layers"],
        shared=alike(source, target),
        tied=alike(target, head),
        scaled=bool(settings["scale_embedding"]),
        output_bias=bias is not None and bool(bias.any()),
        start=pad if start is None else start,
        end=end,
    )


def alike(one: Tensor | None, other: Tensor | None) -> bool:
    return one is other or (one is not None and other is not None and torch.equal(one, other))


def write(model: Transformer) -> Foreign:
    """Our Transformer in their terms: MarianMT for norms after the sum, Pegasus for norms before."""
    config = model.config
    kind = "MarianMT" if config.norm == "post" else "Pegasus"
    check_expressible(config, kind)
    there = order(config.dim)
    ours = {name: in_order(name, tensor, there) for name, tensor in ours_of(model).items()}
    tensors = give(links(config), ours)
    if config.shared:
        tensors[SHARED] = tensors[SOURCE]
        if config.tied:
            del tensors[SOURCE]
        else:
            tensors[TARGET] = tensors[SHARED].clone()  # theirs are three matrices as soon as one is not tied
            tensors[SHARED] = tensors[SHARED].clone()
    elif kind == "Pegasus":
        tensors[SHARED] = tensors[SOURCE].clone()
    if kind == "Pegasus":  # which expects them in the file
        tensors |= {name: their_positions(config.max_length, config.dim) for name in POSITION_TABLES}
    bias = tensors.get("final_logits_bias", torch.zeros(config.target_vocabulary))
    tensors["final_logits_bias"] = bias[None].contiguous()
    return Foreign(their_config(config, kind), tensors)


def check_expressible(config: TransformerConfig, kind: str) -> None:
    demand(
        config.positions == "sinusoidal",
        f"{kind} has sinusoidal positions only",
        actual=f"positions={config.positions!r}",
        do='train with positions = "sinusoidal" to export',
    )
    demand(
        config.epsilon == EPSILON,
        f"{kind} has a fixed epsilon in its norms, {EPSILON}",
        actual=f"epsilon={config.epsilon}",
        do=f"train with epsilon = {EPSILON} to export",
    )
    demand(
        kind == "MarianMT" or config.shared or not config.tied,
        "Pegasus cannot tie the output to the target embedding without sharing it with the source",
        actual="shared=False, tied=True",
        do='train with shared = true, with tied = false, or with norm = "post"',
    )
    demand(
        kind == "MarianMT" or config.source_vocabulary == config.target_vocabulary,
        "Pegasus has one vocabulary for source and target",
        actual=f"{config.source_vocabulary} and {config.target_vocabulary} words",
        do='train with norm = "post", or with one vocabulary',
    )


def their_config(config: TransformerConfig, kind: str) -> dict[str, Any]:
    marian = kind == "MarianMT"
    both = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in (
        ("attention_heads", config.heads), ("ffn_dim", config.feedforward), ("layerdrop", 0.0),
    )}  # fmt: skip
    separate = {"decoder_vocab_size": config.target_vocabulary, "share_encoder_decoder_embeddings": config.shared}
    return {
        "architectures": ["MarianMTModel" if marian else "PegasusForConditionalGeneration"],
        "model_type": "marian" if marian else "pegasus",
        "is_encoder_decoder": True,
        "d_model": config.dim,
        **both,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.feedforward_dropout,
        "scale_embedding": config.scaled,
        "max_position_embeddings": config.max_length,
        "vocab_size": config.source_vocabulary,
        **(separate if marian else {}),
        "tie_word_embeddings": config.tied,
        "pad_token_id": config.pad,
        "bos_token_id": None,
        "eos_token_id": config.end,
        "forced_eos_token_id": None,
        "decoder_start_token_id": config.start,
        "dtype": "float32",
    }


def links(config: TransformerConfig) -> Iterator[TensorMapping]:
    """Which tensor is which."""
    yield TensorMapping("source.table.weight", (SOURCE,))
    if not config.shared:
        yield TensorMapping("target.table.weight", (TARGET,))
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(layers):
            yield from block_links(f"{side}.{number}", f"model.{side}.layers.{number}", cross=side == "decoder")
        if config.norm == "pre":
            yield from layer(f"{side}_norm", f"model.{side}.layer_norm")
    if not config.tied:
        yield TensorMapping("output.linear.weight", (HEAD,))
    if config.output_bias:
        yield TensorMapping("output.bias", ("final_logits_bias",))


def block_links(ours: str, theirs: str, *, cross: bool) -> Iterator[TensorMapping]:
    own, other = f"{theirs}.self_attn", f"{theirs}.encoder_attn"
    yield from layer(f"{ours}.self_attention.qkv", *(f"{own}.{part}_proj" for part in "qkv"))
    yield from layer(f"{ours}.self_attention.out", f"{own}.out_proj")
    yield from layer(f"{ours}.self_residual.norm", f"{theirs}.self_attn_layer_norm")
    if cross:
        yield from layer(f"{ours}.cross_attention.q", f"{other}.q_proj")
        yield from layer(f"{ours}.cross_attention.kv", *(f"{other}.{part}_proj" for part in "kv"))
        yield from layer(f"{ours}.cross_attention.out", f"{other}.out_proj")
        yield from layer(f"{ours}.cross_residual.norm", f"{theirs}.encoder_attn_layer_norm")
    yield from layer(f"{ours}.feedforward.up", f"{theirs}.fc1")
    yield from layer(f"{ours}.feedforward.down", f"{theirs}.fc2")
    yield from layer(f"{ours}.feedforward_residual.norm", f"{theirs}.final_layer_norm")


def order(dim: int) -> Tensor:
    """Where each of their coordinates is among ours: the even ones (sines), then the odd ones (cosines)."""
    return torch.cat([torch.arange(0, dim, 2), torch.arange(1, dim, 2)])


def their_positions(length: int, dim: int) -> Tensor:
    """The sinusoids in their order."""
    return sinusoids(torch.arange(length), dim)[:, order(dim)].float()


READS = (".qkv.weight", ".q.weight", ".kv.weight", ".up.weight", ".table.weight", ".linear.weight")
SAYS = (".out.weight", ".out.bias", ".down.weight", ".down.bias", "norm.weight", "norm.bias")


def in_order(name: str, tensor: Tensor, new: Tensor) -> Tensor:
    """The same tensor when the model's coordinates come in another order: in what it reads, or in what it says."""
    if name.endswith(READS):
        return tensor[:, new]
    return tensor[new] if name.endswith(SAYS) else tensor
