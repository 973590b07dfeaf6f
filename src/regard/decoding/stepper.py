"""The interface between searching and models: read some ids, say what may come next, follow the beams."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from regard.decoding.cache import KeyValueCache
from regard.models import Decoder, Recurrent, Transformer


class Stepper(Protocol):
    """One batch being decoded."""

    def advance(self, ids_BT: Tensor) -> Tensor:
        """Read some more ids of every row; logits (B, vocabulary) for what follows the last."""

    def select(self, index: Tensor, *, source: bool = True) -> None:
        """Go on with these rows of the batch, in this order.

        `source=False` promises that each row comes from one of the same text, as beams do once they have branched:
        what was read of the source is the same in all of these, and need not move.
        """


class TransformerStepper:
    """The source is read once; the decoder keeps its own keys and values."""

    def __init__(self, model: Transformer, source_BN: Tensor, mask: Tensor | None = None) -> None:
        self.model = model
        self.mask = model.mask_of(source_BN) if mask is None else mask
        self.memory = model.encode(source_BN, self.mask)
        self.cache = KeyValueCache()

    def advance(self, ids_BT: Tensor) -> Tensor:
        logits = self.model.decode(ids_BT, self.memory, self.mask, self.cache)
        self.cache.length += ids_BT.shape[1]
        return logits[:, -1]

    def select(self, index: Tensor, *, source: bool = True) -> None:
        if source:
            self.memory = self.memory.index_select(0, index)
        if source and self.mask is not None:
            self.mask = self.mask.index_select(0, index)
        self.cache.select(index, source=source)


class DecoderStepper:
    """Prompts of different lengths stand right-aligned, with a mask that is False on what fills them up."""

    def __init__(self, model: Decoder, mask: Tensor | None = None) -> None:
        self.model, self.mask, self.cache = model, mask, KeyValueCache()

    def advance(self, ids_BT: Tensor) -> Tensor:
        if self.mask is not None and self.cache.length:
            self.mask = torch.cat([self.mask, torch.ones_like(ids_BT, dtype=torch.bool)], 1)
        logits = self.model(ids_BT, self.mask, self.cache)
        self.cache.length += ids_BT.shape[1]
        last: Tensor = logits[:, -1]
        return last

    def select(self, index: Tensor, *, source: bool = True) -> None:
        if source and self.mask is not None:
            self.mask = self.mask.index_select(0, index)
        self.cache.select(index)


class RecurrentStepper:
    """A recurrent model's state is all the cache it needs."""

    def __init__(self, model: Recurrent, source_BN: Tensor, mask: Tensor | None = None) -> None:
        self.model, self.state = model, model.start(source_BN, mask)

    def advance(self, ids_BT: Tensor) -> Tensor:
        logits, self.state = self.model.advance(ids_BT, self.state)
        return logits[:, -1]

    def select(self, index: Tensor, *, source: bool = True) -> None:
        self.state = self.state.select(index)


def stepper_for(
    model: Transformer | Decoder | Recurrent, inputs_BN: Tensor, mask: Tensor | None = None
) -> tuple[Stepper, Tensor]:
    """A stepper, and the ids to read first: the prompt of a decoder-only model, else the model's start."""
    if isinstance(model, Decoder):
        return DecoderStepper(model, mask), inputs_BN
    stepper: Stepper = (
        TransformerStepper(model, inputs_BN, mask)
        if isinstance(model, Transformer)
        else RecurrentStepper(model, inputs_BN, mask)
    )
    return stepper, torch.full_like(inputs_BN[:, :1], model.config.start)
