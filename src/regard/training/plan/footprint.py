"""How much memory a run needs: what is there for every weight, and what a batch leaves behind until it goes back.

Weights, gradients, Adam's two moments and the moving average are float32 and exact. What the forward pass keeps for the
backward pass is counted tensor by tensor for each kind of layer; the allocator's own share is not.
"""

from __future__ import annotations

from typing import NamedTuple

from regard.models.config import BlockConfig, Config, DecoderConfig, EncoderConfig, RecurrentConfig, TransformerConfig
from regard.training.plan.flops import BatchShape

FULL, HALF = 4, 2  # bytes
SELF, CROSS, KEYS, FEED = (
    8.25,
    6.25,
    2.0,
    2.25,
)  # tensors of dim at each position, quarters are masks
LOGITS = 3  # of the vocabulary, float32: the loss's own two, and their gradient
AGREEING = 4  # more where two passes must agree


class Footprint(NamedTuple):
    """Bytes by what they are for."""

    weights: float
    gradients: float
    moments: float
    average: float
    activations: float

    @property
    def total(self) -> float:
        return sum(self)


def footprint(
    parameters: int, config: Config, shape: BatchShape, *, moving: bool, half: bool, consistency: bool = False
) -> Footprint:
    """Of one process that works on batches of this shape; with bfloat16 each weight is there in both precisions."""
    own = FULL * parameters
    shape = shape._replace(rows=shape.rows * (2 if consistency else 1))
    agreeing = AGREEING * FULL * logits_of(config, shape) if consistency else 0.0
    activations = activation_bytes(config, shape, half) + agreeing
    return Footprint(own + (HALF * parameters if half else 0), own, 2 * own, own if moving else 0, activations)


def activation_bytes(config: Config, shape: BatchShape, half: bool) -> float:
    size = HALF if half else FULL
    logits = logits_of(config, shape) * (LOGITS * FULL + (2 * HALF if half else 0))
    if isinstance(config, RecurrentConfig):
        return recurrent_numbers(config, shape) * FULL + logits
    assert isinstance(config, BlockConfig)
    return size * stack_numbers(config, shape) + logits


def stack_numbers(config: BlockConfig, shape: BatchShape) -> float:
    d, f = config.dim, config.feedforward
    source, target = shape.rows * shape.source, shape.rows * shape.target
    inner = 1 if config.activation == "relu" else 2  # others need what went in as well as what came out
    block = (SELF + FEED) * d + inner * f
    if isinstance(config, TransformerConfig):
        decoder = config.decoder_layers * (target * (block + CROSS * d) + source * KEYS * d)
        return config.encoder_layers * source * block + decoder
    assert isinstance(config, (DecoderConfig, EncoderConfig))
    return config.layers * source * block


def logits_of(config: Config, shape: BatchShape) -> float:
    source, target = shape.rows * shape.source, shape.rows * shape.target
    if isinstance(config, (TransformerConfig, RecurrentConfig)):
        return target * config.target_vocabulary
    if isinstance(config, EncoderConfig) and config.head != "mask":
        return shape.rows * len(config.labels)
    assert isinstance(config, (DecoderConfig, EncoderConfig))
    return source * config.vocabulary


def recurrent_numbers(config: RecurrentConfig, shape: BatchShape) -> float:
    """Gates and states of every step; with attention also what each step saw of the source."""
    h, rows, source, target = config.hidden, *shape
    steps = rows * (source + target)
    if not config.attention:
        return steps * (config.dim + 17 * h * config.layers)
    return steps * (config.dim + 17 * h) + rows * source * target * h
