"""The interface between searching and models: read some ids, say what may come next, follow the beams."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from regard.decoding.cache import KeyValueCache
from regard.models import Decoder, Recurrent, Transformer, seams


class Stepper(Protocol):
    """One batch being decoded: texts, each with one row or, once it has been widened, with a row for each beam."""

    followed: bool  # does somebody follow the rows from outside? Then none may leave

    def advance(self, ids_BT: Tensor) -> Tensor:
        """Read some more ids of every row; logits (B, vocabulary) for what follows the last."""

    def widen(self, width: int) -> None:
        """Each row becomes so many beams of one text, side by side; once."""

    def follow(self, rows: Tensor) -> None:
        """Each row goes on from another beam of its own text: what was read of the source stays where it is."""

    def select(self, texts: Tensor) -> None:
        """Go on with these texts, in this order, each with all its beams."""


def hooked(model: nn.Module) -> bool:
    """Has somebody taken hold of an attention of this model? Each beam then has rows of its own at every site."""
    return any(seam.hooks for seam in seams(model).values())


def beam_rows(texts: Tensor, beams: int) -> Tensor:
    """The rows of all beams of some texts."""
    return (texts[:, None] * beams + torch.arange(beams, device=texts.device)).flatten()


def move(cache: KeyValueCache, rows: Tensor, followed: bool) -> None:
    """Let beams change places within their texts, so that those who follow them from outside hear of it."""
    if followed:
        cache.select(rows, source=False)
    elif not same_order(rows):
        cache.reorder(rows)


def same_order(rows: Tensor) -> bool:
    """Is each row its own? On a CPU it is worth asking; elsewhere asking would wait for the device."""
    return rows.device.type == "cpu" and torch.equal(rows, torch.arange(len(rows)))


class TransformerStepper:
    """The source is read once, and kept once for all beams; the decoder keeps its own keys and values."""

    def __init__(self, model: Transformer, source_BN: Tensor, mask: Tensor | None = None) -> None:
        self.model, self.beams, self.followed = model, 1, hooked(model)
        self.mask = model.mask_of(source_BN) if mask is None else mask
        self.memory = model.encode(source_BN, self.mask)
        self.cache = KeyValueCache()

    def advance(self, ids_BT: Tensor) -> Tensor:
        logits = self.model.decode(ids_BT, self.memory, self.mask, self.cache)
        self.cache.length += ids_BT.shape[1]
        return logits[:, -1]

    def widen(self, width: int) -> None:
        rows = torch.arange(len(self.memory), device=self.memory.device).repeat_interleave(width)
        self.beams = width
        self.cache.select(rows, source=self.followed)
        if self.followed:
            self.select_source(rows)

    def follow(self, rows: Tensor) -> None:
        move(self.cache, rows, self.followed)

    def select(self, texts: Tensor) -> None:
        rows = beam_rows(texts, self.beams)
        sources = rows if self.followed else texts
        if self.followed:
            self.cache.select(rows)
        else:
            self.cache.reorder(rows)
            self.cache.select_source(sources)
        self.select_source(sources)

    def select_source(self, sources: Tensor) -> None:
        self.memory = self.memory.index_select(0, sources)
        self.mask = None if self.mask is None else self.mask.index_select(0, sources)


class DecoderStepper:
    """Prompts of different lengths stand right-aligned, with a mask that is False on what fills them up."""

    def __init__(self, model: Decoder, mask: Tensor | None = None) -> None:
        self.model, self.mask, self.cache = model, mask, KeyValueCache()
        self.rows, self.beams, self.followed = 0, 1, hooked(model)

    def advance(self, ids_BT: Tensor) -> Tensor:
        if self.mask is not None and self.cache.length:
            self.mask = torch.cat([self.mask, torch.ones_like(ids_BT, dtype=torch.bool)], 1)
        logits = self.model(ids_BT, self.mask, self.cache)
        self.cache.length += ids_BT.shape[1]
        self.rows = len(ids_BT)
        last: Tensor = logits[:, -1]
        return last

    def widen(self, width: int) -> None:
        device = next(self.model.parameters()).device
        self.beams = width
        self.select_rows(torch.arange(self.rows, device=device).repeat_interleave(width))

    def follow(self, rows: Tensor) -> None:
        move(self.cache, rows, self.followed)

    def select(self, texts: Tensor) -> None:
        self.select_rows(beam_rows(texts, self.beams))

    def select_rows(self, rows: Tensor) -> None:
        self.mask = None if self.mask is None else self.mask.index_select(0, rows)
        self.cache.select(rows)


class RecurrentStepper:
    """A recurrent model's state is all the cache it needs."""

    def __init__(self, model: Recurrent, source_BN: Tensor, mask: Tensor | None = None) -> None:
        self.model, self.state = model, model.start(source_BN, mask)
        self.rows, self.beams, self.followed = len(source_BN), 1, hooked(model)

    def advance(self, ids_BT: Tensor) -> Tensor:
        logits, self.state = self.model.advance(ids_BT, self.state)
        return logits[:, -1]

    def widen(self, width: int) -> None:
        rows = torch.arange(self.rows, device=self.state.hidden.device).repeat_interleave(width)
        self.beams, self.state = width, self.state.select(rows)

    def follow(self, rows: Tensor) -> None:
        self.state = self.state.select(rows)

    def select(self, texts: Tensor) -> None:
        self.state = self.state.select(beam_rows(texts, self.beams))


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
