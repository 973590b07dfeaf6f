"""The vector of each token after each layer, and how alike two of them are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from regard.interop.auto import Auto
from regard.lens.analysis.subject import Subject
from regard.models.layers import Block, Embedding
from regard.server.refusals import Refusal
from regard.server.studio.look_reading import ModelInput, read_logits
from regard.server.studio.schema import LayerSimilarity, TextSide

Vectors = dict[TextSide, list[Tensor]]  # of each side, layer by layer, (tokens, dim); the embedding first


@torch.no_grad()
def token_vectors(subject: Subject, given: ModelInput) -> Vectors:
    """Of the source, and of what the decoder reads."""
    if isinstance(subject.reader, Auto):
        return their_vectors(subject.reader, given)
    vectors: Vectors = {"source": [], "target": []}
    with collected(subject.reader.model, vectors, pair=given.target is not None):
        read_logits(subject, given)
    if not vectors["source"]:
        raise Refusal(400, "This model has no layers of attention blocks whose vectors could be compared")
    return vectors


def their_vectors(reader: Auto, given: ModelInput) -> Vectors:
    """As transformers gives them."""
    more: dict[str, Any] = {"output_hidden_states": True}
    ids = torch.tensor([given.source], device=reader.model.device)
    if given.target is not None:
        more["decoder_input_ids"] = torch.tensor([given.target[:-1]], device=reader.model.device)
    output = reader.model(input_ids=ids, **more)
    names = ("encoder_hidden_states", "decoder_hidden_states") if given.target is not None else ("hidden_states", "")
    source, target = (getattr(output, name, None) or () for name in names)
    if not source:
        raise Refusal(400, "This model does not give the vectors of its layers")
    return {"source": [one[0].float().cpu() for one in source], "target": [one[0].float().cpu() for one in target]}


@contextmanager
def collected(model: nn.Module, vectors: Vectors, *, pair: bool) -> Iterator[None]:
    """Listen to the embeddings and blocks of a model of ours, for the length of a with block."""
    handles = []
    for name, module in model.named_modules():
        if not isinstance(module, (Embedding, Block)):
            continue
        mine = vectors["target" if pair and name.startswith(("target", "decoder")) else "source"]

        def keep(_: nn.Module, __: Any, output: Tensor, mine: list[Tensor] = mine) -> None:
            mine.append(output[0].float().cpu())

        handles.append(module.register_forward_hook(keep))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def similarities(left: list[Tensor], right: list[Tensor], positions: tuple[int, int]) -> list[LayerSimilarity]:
    """Cosine and distance, layer by layer."""
    if len(left) != len(right) or left[0].shape[-1] != right[0].shape[-1]:
        sizes = f"{len(left)} x {left[0].shape[-1]} and {len(right)} x {right[0].shape[-1]}"
        raise Refusal(400, f"These two models have other layers, so their vectors cannot be compared ({sizes})")
    rows = []
    for number, (one, other) in enumerate(zip(left, right, strict=True)):
        a, b = one[positions[0]].double(), other[positions[1]].double()
        cosine = float(torch.nn.functional.cosine_similarity(a, b, dim=0))
        name = f"layer {number}" if number else "embedding"
        rows.append(LayerSimilarity(name=name, cosine=cosine, distance=float((a - b).norm())))
    return rows
