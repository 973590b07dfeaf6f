"""Our Transformer as two ONNX graphs: what reads the source once, and one step of the decoder with its cache.

encoder.onnx   source_ids (batch, source) int64, source_mask (batch, source) bool, True on words
               -> cross_key_i, cross_value_i (batch, heads, source, dim of a head) for each decoder layer i
decoder.onnx   target_ids (batch, 1), source_mask, cross_key_i, cross_value_i, and
               past_key_i, past_value_i (batch, heads, past, dim of a head), past = 0 at the first step
               -> logits (batch, 1, vocabulary), present_key_i, present_value_i: the past of the next step
"""

from __future__ import annotations

import importlib
import logging
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import InputError
from regard.interop.huggingface import write_json
from regard.models import Transformer, seams
from regard.models.layers import Block, CrossAttention, KeyValue
from regard.text.bpe import Paired
from regard.text.tokenizer import Tokenizer

FORMAT = "regard onnx"  # in config.json
EXAMPLE = (2, 5, 3)  # texts, tokens of a source, tokens written before: the graph is for any number of them


class PastCache:
    """The cache of one step as a graph sees it: what comes in is the past, what goes out has the newest behind it."""

    def __init__(self, past: dict[str, KeyValue], cross: dict[str, KeyValue]) -> None:
        self.past, self.cross = past, cross
        self.present: dict[str, KeyValue] = {}
        self.length = next(iter(past.values()))[0].shape[-2]

    def extend(self, site: str, key: Tensor, value: Tensor) -> KeyValue:
        """Put the newest behind the past."""
        keys, values = self.past[site]
        self.present[site] = torch.cat([keys, key], -2), torch.cat([values, value], -2)
        return self.present[site]

    def once(self, site: str, make: Callable[[], KeyValue]) -> KeyValue:
        """What the encoder's graph has made."""
        return self.cross[site]


class EncoderGraph(nn.Module):
    """Source ids in, keys and values of every cross-attention out."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source_ids: Tensor, source_mask: Tensor) -> tuple[Tensor, ...]:
        """As the decoder's graph takes them."""
        memory = self.model.encode(source_ids, source_mask)
        layers = [block.cross_attention for block in self.model.decoder if isinstance(block, Block)]
        return tuple(x for cross in layers if isinstance(cross, CrossAttention) for x in cross.remember(memory))


class DecoderStepGraph(nn.Module):
    """One target id of each text in, logits for the next and the longer past out."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, target_ids: Tensor, source_mask: Tensor, *keys_and_values: Tensor) -> tuple[Tensor, ...]:
        """Keys and values come as the past of each layer, then as what was read of the source."""
        pairs = list(zip(keys_and_values[::2], keys_and_values[1::2], strict=True))
        layers = len(pairs) // 2
        sites = [f"decoder.{number}" for number in range(layers)]
        cache = PastCache(
            {f"{site}.self": pair for site, pair in zip(sites, pairs[:layers], strict=True)},
            {f"{site}.cross": pair for site, pair in zip(sites, pairs[layers:], strict=True)},
        )
        logits = self.model.decode(target_ids, target_ids, source_mask, cache)  # the memory is in the cache already
        return logits, *(x for site in sites for x in cache.present[f"{site}.self"])


def attention_node(
    site: str, following: Any, query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None, **rest: Any
) -> Tensor:
    """The equation as one operation of a graph. A step has one query, behind all keys: causality hides nothing."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def layer_names(prefix: str, layers: int) -> list[str]:
    """Keys and values of each layer, in the order that the graphs have them."""
    return [f"{prefix}_{kind}_{number}" for number in range(layers) for kind in ("key", "value")]


def import_onnx(name: str = "onnxruntime") -> Any:
    """A library of the extra, or what to do without it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"{name} is not installed", found=str(error), do='pip install "regard[onnx]"') from error


def write_onnx(model: Transformer, tokenizer: Tokenizer | Paired, folder: Path, *, longest: int) -> None:
    """Both graphs, the tokenizer, and config.json with the ids that start and end a text."""
    for name in ("onnx", "onnxscript", "onnxruntime"):
        import_onnx(name)
    config, texts, source, past = model.config, *EXAMPLE
    heads, dim = config.heads, config.dim // config.heads
    ids, mask = torch.ones(texts, source, dtype=torch.long), torch.ones(texts, source, dtype=torch.bool)
    count = 2 * config.decoder_layers
    before = [torch.zeros(texts, heads, past, dim) for _ in range(count)]
    cross = [torch.zeros(texts, heads, source, dim) for _ in range(count)]
    cross_names, past_names, present_names = (
        layer_names(prefix, config.decoder_layers) for prefix in ("cross", "past", "present")
    )
    folder.mkdir(parents=True, exist_ok=True)
    axes = {"batch": {0: "batch"}, "source": {0: "batch", 1: "source"}}
    grown = [{0: "batch", 2: "past"}] * count + [{0: "batch", 2: "source"}] * count
    with ExitStack() as hooks:
        for seam in seams(model).values():
            hooks.enter_context(seam.hooked(attention_node))
        write_graph(
            EncoderGraph(model), folder / "encoder.onnx", (ids, mask), (axes["source"], axes["source"]),
            ["source_ids", "source_mask"], cross_names,
        )  # fmt: skip
        write_graph(
            DecoderStepGraph(model), folder / "decoder.onnx", (ids[:, :1], mask, *before, *cross),
            (axes["batch"], axes["source"], tuple(grown)),
            ["target_ids", "source_mask", *past_names, *cross_names], ["logits", *present_names],
        )  # fmt: skip
    tokenizer.save(folder / "tokenizer.json")
    write_json(folder / "config.json", {"format": FORMAT, "transformer": config.to_dict(), "longest": longest})


def write_graph(
    module: nn.Module, path: Path, example: tuple[Tensor, ...], axes: Any, inputs: list[str], outputs: list[str]
) -> None:
    """Export one graph, its weights inside; what the exporter warns of on the way is about itself."""
    names = {name: torch.export.Dim(name) for name in ("batch", "source", "past")}
    shapes = named(axes, names)
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module.eval(), example, path, input_names=inputs, output_names=outputs, dynamic_shapes=shapes,
                dynamo=True, external_data=False, verbose=False,
            )  # fmt: skip
    finally:
        log.setLevel(level)


def named(axes: Any, names: dict[str, Any]) -> Any:
    """The same with the dimension of each name."""
    if isinstance(axes, tuple):
        return tuple(named(one, names) for one in axes)
    return {axis: names[name] for axis, name in axes.items()}
