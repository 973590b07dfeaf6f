"""Our Transformer as a folder of CTranslate2's, which decodes on a CPU several times as fast, in 8 bits if wanted."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import nn

from regard.errors import FileError, InputError
from regard.models import Transformer, TransformerConfig
from regard.models.layers import Block, Embedding, Residual, sinusoids
from regard.text.bpe import Paired, source_of, target_of
from regard.text.tokenizer import Tokenizer

FORMAT = "regard ctranslate2"  # in config.json of a folder that `regard` reads again
ROWS = 1024  # positions of sinusoids that are written at least: theirs count from another number, so ours go along
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int8", "int8_float32")  # of what is written
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_new": "GELUTanh", "silu": "SWISH", "tanh": "Tanh"}


def import_ctranslate2() -> Any:
    """The library, or what to do without it."""
    try:
        return importlib.import_module("ctranslate2")
    except ImportError as error:
        raise InputError(
            "CTranslate2 is not installed", found=str(error), do='pip install "regard[fast]"'
        ) from error  # fmt: skip


def transformer_only(model: nn.Module) -> Transformer:
    """The model, if it is one that this format has a place for here."""
    if isinstance(model, Transformer):
        return model
    family = getattr(getattr(model, "config", None), "family", type(model).__name__)
    raise InputError(
        "only an encoder-decoder of attention blocks goes there", found=f"family {family!r}", do="keep it in our format"
    )


def write_ctranslate2(
    model: Transformer, tokenizer: Tokenizer | Paired, folder: Path, *, longest: int, quantization: str = "float32"
) -> None:
    """Weights, vocabularies and tokenizer. `longest`: the most tokens of a text that are read at once.

    Everything is written from copies: their quantisation works in place, and would spoil the model.
    """
    config = model.config
    rows = config.max_length if config.positions == "learned" else max(ROWS, longest)
    spec = specification(model, rows=rows)
    for register, side, size in (
        (spec.register_source_vocabulary, source_of(tokenizer), config.source_vocabulary),
        (spec.register_target_vocabulary, target_of(tokenizer), config.target_vocabulary),
    ):
        register(vocabulary(side, size))
    target = target_of(tokenizer)
    spec.config.decoder_start_token = token_of(target, config.start)
    spec.config.bos_token = token_of(target, config.start)
    spec.config.eos_token = token_of(target, config.end)
    spec.config.unk_token = token_of(target, config.start if config.pad is None else config.pad)  # nothing is unknown
    spec.config.add_source_bos = spec.config.add_source_eos = False  # our tokenizer puts them there
    spec.config.layer_norm_epsilon = config.epsilon
    for name, value in CTranslate2Settings(config, longest, rows, quantization).to_dict().items():
        spec.config.add_attribute(name, value)
    spec.validate()
    spec.optimize(quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    tokenizer.save(folder / "tokenizer.json")


class CTranslate2Settings(NamedTuple):
    """What `write_ctranslate2` puts into config.json beside their own settings, so that `regard` reads it again."""

    transformer: TransformerConfig
    longest: int  # tokens of a text that are read at once
    positions: int  # tokens of a text, read or written, that there are positions for
    quantization: str

    def to_dict(self) -> dict[str, Any]:
        return {"format": FORMAT, **self._asdict(), "transformer": self.transformer.to_dict()}


def settings_of(config: dict[str, Any], folder: Path) -> CTranslate2Settings:
    """The settings in a config.json that `write_ctranslate2` has written."""
    try:
        transformer = {name: value for name, value in config["transformer"].items() if name != "family"}
        numbers = int(config["longest"]), int(config["positions"])
        return CTranslate2Settings(TransformerConfig.from_dict(transformer), *numbers, str(config["quantization"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(
            f"{folder / 'config.json'} is damaged", found=repr(error), do="export the model again"
        ) from error


def specification(model: Transformer, *, rows: int) -> Any:
    """Their description of the model, filled with copies of its weights."""
    library, config = import_ctranslate2(), model.config
    spec = library.specs.TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm == "pre",
        activation=getattr(library.specs.Activation, ACTIVATIONS[config.activation]),
    )
    embed(spec.encoder.embeddings[0], spec.encoder, model.source, rows)
    embed(spec.decoder.embeddings, spec.decoder, model.target, rows)
    for stack, side, norm in (
        (model.encoder, spec.encoder, model.encoder_norm),
        (model.decoder, spec.decoder, model.decoder_norm),
    ):
        for block, layer in zip(stack, side.layer, strict=True):
            fill_layer(layer, cast(Block, block))
        if isinstance(norm, nn.LayerNorm):
            fill_norm(side.layer_norm, norm)
    output = model.target.table if model.output.linear is None else model.output.linear
    spec.decoder.projection.weight = array(output.weight)
    if model.output.bias is not None:
        spec.decoder.projection.bias = array(model.output.bias)
    return spec


def embed(table: Any, side: Any, embedding: Embedding, rows: int) -> None:
    """Words and positions: our own sinusoids, learned ones as they are, zeros where a model has none."""
    table.weight = array(embedding.table.weight)
    side.scale_embeddings = embedding.scale != 1.0
    dim = embedding.table.embedding_dim
    if embedding.learned is not None:
        positions = embedding.learned.weight
    elif embedding.kind == "sinusoidal":
        positions = sinusoids(torch.arange(rows), dim).float()
    else:
        positions = torch.zeros(rows, dim)
    side.position_encodings.encodings = array(positions)


def fill_layer(layer: Any, block: Block) -> None:
    """One block. Queries, keys and values stand under each other in one matrix, there as here."""
    fill_linear(layer.self_attention.linear[0], block.self_attention.qkv)
    fill_linear(layer.self_attention.linear[1], block.self_attention.out)
    fill_residual(layer.self_attention, block.self_residual)
    if block.cross_attention is not None and block.cross_residual is not None:
        cross = block.cross_attention
        for place, linear in zip(layer.attention.linear, (cross.q, cross.kv, cross.out), strict=True):
            fill_linear(place, linear)
        fill_residual(layer.attention, block.cross_residual)
    fill_linear(layer.ffn.linear_0, block.feedforward.up)
    fill_linear(layer.ffn.linear_1, block.feedforward.down)
    fill_residual(layer.ffn, block.feedforward_residual)


def fill_residual(sublayer: Any, residual: Residual) -> None:
    fill_norm(sublayer.layer_norm, residual.norm)


def fill_linear(place: Any, linear: nn.Linear) -> None:
    place.weight, place.bias = array(linear.weight), array(linear.bias)


def fill_norm(place: Any, norm: nn.LayerNorm) -> None:
    place.gamma, place.beta = array(norm.weight), array(norm.bias)


def array(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A copy in float32."""
    return np.array(tensor.detach().cpu().float().numpy(), copy=True, order="C")


def vocabulary(tokenizer: Tokenizer, size: int) -> list[str]:
    """Every token by its id; ids that only the model has are given names of their own."""
    return [token_of(tokenizer, number) for number in range(size)]


def token_of(tokenizer: Tokenizer, number: int) -> str:
    token = tokenizer.token_of(number)
    return f"<unused {number}>" if token is None else token
