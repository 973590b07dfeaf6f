"""Every family of models in small: a named configuration, a model with settled weights, and something to read.

`Family.run` reads an `Example` with any of them, so that one test can be asked of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.models import (
    DecoderConfig,
    EncoderConfig,
    RecurrentConfig,
    TransformerConfig,
    build,
)
from regard.models.config import Config

WORDS = 19  # the size of every vocabulary; 0 is padding, 1 the start, 2 the end
FIRST_WORD = 3

SMALL = {"dim": 16, "heads": 4, "feedforward": 24, "dropout": 0.0, "max_length": 32}


class Example(NamedTuple):
    """What a model reads: ids with a mask that is True on words, and what its decoder reads, where it has one."""

    ids: Tensor
    mask: Tensor
    target: Tensor | None

    def row(self, index: int) -> Example:
        """One row alone, without its padding."""
        words = self.ids[index : index + 1, self.mask[index]]
        target = None if self.target is None else self.target[index : index + 1]
        return Example(words, torch.ones_like(words, dtype=torch.bool), target)

    def padded(self, left: int = 0, right: int = 0, filler: int = 0) -> Example:
        """The same with more padding on either side."""
        ids, mask = (
            nn.functional.pad(x.long(), (left, right), value=v) for x, v in ((self.ids, filler), (self.mask, 0))
        )
        return Example(ids, mask.bool(), self.target)

    def garbled(self, filler: int) -> Example:
        """The same words with another id under the mask."""
        return self._replace(ids=self.ids.masked_fill(~self.mask, filler))


@dataclass(frozen=True)
class Family:
    """One kind of model, by name."""

    name: str
    config: Any
    sites: tuple[str, ...]

    @property
    def two_texts(self) -> bool:
        """Has it a source and a target?"""
        return self.config.family in ("transformer", "recurrent")

    @property
    def causal(self) -> bool:
        return self.config.family != "encoder"

    @property
    def per_word(self) -> bool:
        """Is there an output for every id that was read (not for every id of the target, nor one for the text)?"""
        return not self.two_texts and getattr(self.config, "head", "") != "class"

    def model(self, seed: int = 0, dtype: torch.dtype = torch.float32, **changes: Any) -> Any:
        """A model in which no bias is zero and no norm is one: what is left out would show."""
        torch.manual_seed(seed)
        return settled(build(replace(self.config, **changes))).to(dtype).eval()

    def example(self, lengths: tuple[int, ...] = (5, 3, 6), target: int = 5, seed: int = 0) -> Example:
        """Random words, one row for each length, filled up on the right with the id of padding."""
        generator = torch.Generator().manual_seed(seed)
        ids = words((len(lengths), max(lengths)), generator)
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        second = words((len(lengths), target), generator) if self.two_texts else None
        return Example(ids.masked_fill(~mask, 0), mask, second)

    def run(self, model: nn.Module, example: Example) -> Tensor:
        """The model's output for the example."""
        if example.target is not None:
            return model(example.ids, example.target, example.mask)
        return model(example.ids, example.mask)

    def told(self, model: nn.Module, example: Example) -> list[Tensor]:
        """The output of each row, without what stands at padding."""
        output = self.run(model, example)
        if not self.per_word:
            return list(output)
        return [row[mask] for row, mask in zip(output, example.mask, strict=True)]

    def loss(self, model: Any, example: Example) -> Tensor:
        """A number in which every output counts differently, and which every parameter takes part in."""
        outputs = [self.run(model, example)]
        if getattr(self.config, "head", "") == "none":
            outputs.append(model.pool(outputs[0]))
        generator = torch.Generator().manual_seed(1)
        weights = [torch.randn(x.shape, generator=generator, dtype=x.dtype) for x in outputs]
        return sum(((x * w).sum() for x, w in zip(outputs, weights, strict=True)), torch.zeros(()))


def words(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.randint(FIRST_WORD, WORDS, shape, generator=generator)


def other_words(ids: Tensor) -> Tensor:
    """Another word in every place."""
    return (ids - FIRST_WORD + 1) % (WORDS - FIRST_WORD) + FIRST_WORD


def settled(model: nn.Module) -> nn.Module:
    """Move every parameter a little, those that start at 0 or 1 too."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def transformer(**changes: Any) -> TransformerConfig:
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    return TransformerConfig(**{**SMALL, "source_vocabulary": WORDS, "target_vocabulary": WORDS, **layers, **changes})


def decoder(**changes: Any) -> DecoderConfig:
    return DecoderConfig(**{**SMALL, "vocabulary": WORDS, "layers": 2, "end": 2, **changes})


def encoder(**changes: Any) -> EncoderConfig:
    return EncoderConfig(**{**SMALL, "vocabulary": WORDS, "layers": 2, "head": "none", **changes})


def recurrent(**changes: Any) -> RecurrentConfig:
    sizes = {"source_vocabulary": WORDS, "target_vocabulary": WORDS, "dim": 8, "hidden": 12, "dropout": 0.0}
    return RecurrentConfig(**{**sizes, **changes})


BOTH_SITES = (
    "encoder.0.self", "encoder.1.self", "decoder.0.self", "decoder.0.cross", "decoder.1.self", "decoder.1.cross",
)  # fmt: skip
DECODER_SITES = ("decoder.0.self", "decoder.1.self")
ENCODER_SITES = ("encoder.0.self", "encoder.1.self")
LABELS = ("bad", "fair", "good")

KINDS: dict[str, tuple[Callable[..., Config], tuple[str, ...]]] = {
    "transformer post": (transformer, BOTH_SITES),
    "transformer pre": (partial(transformer, norm="pre", activation="silu"), BOTH_SITES),
    "transformer learned": (partial(transformer, positions="learned", activation="gelu"), BOTH_SITES),
    "transformer unplaced": (partial(transformer, positions="none"), BOTH_SITES),
    "transformer separate": (partial(transformer, shared=False, tied=True, output_bias=True), BOTH_SITES),
    "transformer untied": (partial(transformer, shared=True, tied=False, scaled=False), BOTH_SITES),
    "transformer apart": (
        partial(transformer, shared=False, tied=False, target_vocabulary=WORDS + 4, encoder_layers=1, norm="pre"),
        BOTH_SITES[:1] + BOTH_SITES[2:],
    ),
    "decoder": (decoder, DECODER_SITES),
    "decoder post": (partial(decoder, norm="post", positions="sinusoidal", scaled=True, tied=False), DECODER_SITES),
    "decoder unplaced": (partial(decoder, positions="none", output_bias=True), DECODER_SITES),
    "encoder": (encoder, ENCODER_SITES),
    "encoder mask": (partial(encoder, head="mask", norm="pre"), ENCODER_SITES),
    "encoder class": (partial(encoder, head="class", labels=LABELS), ENCODER_SITES),
    "encoder class plain": (
        partial(encoder, head="class", labels=LABELS, pooled=False, segments=0, positions="sinusoidal"),
        ENCODER_SITES,
    ),
    "encoder unplaced": (partial(encoder, positions="none", segments=0), ENCODER_SITES),
    "recurrent": (partial(recurrent, attention=False), ()),
    "recurrent deep": (partial(recurrent, attention=False, layers=2), ()),
    "recurrent attention": (recurrent, ("decoder.0.cross",)),
}

FAMILIES = {name: Family(name, make(), sites) for name, (make, sites) in KINDS.items()}


def families(where: Callable[[Family], bool] = lambda family: True) -> list[str]:
    """The names of the families of some kind, to parametrise a test with."""
    return [name for name, family in FAMILIES.items() if where(family)]
