"""How much arithmetic an update is, by each family's formula: six operations for every weight a position passes.

A multiplication and an addition forward, and twice as many backward; what attention does between positions, and the
projection onto the vocabulary, count likewise. Embeddings are looked up, not multiplied. Padding is computed too, so
positions count whether or not a word stands there.
"""

from __future__ import annotations

from typing import NamedTuple

from regard.errors import InputError
from regard.models.config import (
    BlockConfig,
    Config,
    DecoderConfig,
    EncoderConfig,
    RecurrentConfig,
    TransformerConfig,
)

BOTH_WAYS = 6  # operations of a multiplication with a weight: two forward, four backward


class BatchShape(NamedTuple):
    """The rows of a batch and how long they are: source and target, or one text whose target is 0."""

    rows: float
    source: float
    target: float = 0.0


def update_flops(config: Config, shape: BatchShape) -> float:
    """Of one forward and backward pass."""
    return BOTH_WAYS * multiplications(config, shape)


def multiplications(config: Config, shape: BatchShape) -> float:
    """With weights and between positions, forward."""
    if isinstance(config, TransformerConfig):
        return pair_multiplications(config, shape)
    if isinstance(config, RecurrentConfig):
        return recurrent_multiplications(config, shape)
    if isinstance(config, DecoderConfig):
        tokens = shape.rows * shape.source
        return stack(config, config.layers, shape) + tokens * config.dim * config.vocabulary
    if isinstance(config, EncoderConfig):
        return stack(config, config.layers, shape) + head_multiplications(config, shape)
    raise InputError("no formula counts this model's arithmetic", found=f"a {config.family}")


def stack(config: BlockConfig, layers: int, shape: BatchShape) -> float:
    """Layers of self-attention and feed-forward: every query with every key, whether or not a mask hides it."""
    d, tokens = config.dim, shape.rows * shape.source
    return layers * tokens * (4 * d * d + 2 * d * config.feedforward + 2 * shape.source * d)


def pair_multiplications(config: TransformerConfig, shape: BatchShape) -> float:
    d, rows, source, target = config.dim, *shape
    encoder = stack(config, config.encoder_layers, shape)
    decoder = stack(config, config.decoder_layers, BatchShape(rows, target))
    queries, keys = 2 * d * d * rows * target, 2 * d * d * rows * source  # with what comes out; with values
    cross = config.decoder_layers * (queries + keys + 2 * rows * target * source * d)
    return encoder + decoder + cross + rows * target * d * config.target_vocabulary


def head_multiplications(config: EncoderConfig, shape: BatchShape) -> float:
    d = config.dim
    if config.head == "mask":
        return shape.rows * shape.source * (d * d + d * config.vocabulary)
    pooled = d * d if config.pooled else 0
    return shape.rows * (pooled + d * len(config.labels) if config.head == "class" else 0)


def recurrent_multiplications(config: RecurrentConfig, shape: BatchShape) -> float:
    d, h, rows, source, target = config.dim, config.hidden, *shape
    if not config.attention:
        layers = 4 * (d * h + h * h) + (config.layers - 1) * 8 * h * h
        return rows * ((source + target) * layers + target * h * config.target_vocabulary)
    reading = 2 * 3 * (d * h + h * h) + 2 * h * h  # both directions, and what is offered
    writing = h * h + 3 * ((d + 2 * h) * h + h * h) + (h + 2 * h + d) * d + d * config.target_vocabulary
    looking = source * (h + 2 * h)  # the scores' weights, and the mean of the memory
    return rows * (source * reading + target * (writing + looking) + h * h)
