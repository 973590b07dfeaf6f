"""Keys and values in buffers that never move: what a step reads and writes lies at the same addresses every time.

The beams of a text are queries of one attention over all that its beams have said; a table says which of these cells
are a beam's own past. So no key is ever copied from beam to beam, and the prompt is there once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.decoding.cache import KeyValueCache
from regard.models.layers import KeyValue


class StaticCache:
    """The cache of B texts with W beams each, for `room` more words after a prompt that was read before."""

    def __init__(self, cache: KeyValueCache, texts: int, width: int, room: int) -> None:
        device = next(iter(cache.growing.values()))[0].device
        self.length = cache.length
        self.beam_W = torch.arange(width, device=device)
        self.slots_W = self.length + self.beam_W  # where the newest words go
        self.positions = torch.full((width,), self.length, device=device)
        more = room * width
        self.growing = {
            site: (roomy(key[..., : self.length, :], more), roomy(value[..., : self.length, :], more))
            for site, (key, value) in cache.growing.items()
        }
        self.fixed = {site: (key.clone(), value.clone()) for site, (key, value) in cache.fixed.items()}
        self.cells_K = torch.arange(self.length + more, device=device)
        self.mask = (self.cells_K < self.length).expand(texts, 1, width, -1).contiguous()  # (B, 1, W, K)

    def follow(self, parents_BW: Tensor) -> None:
        """Each beam goes on from its parent: it sees what that one saw, and the cell of its own new word."""
        texts = torch.arange(len(parents_BW), device=parents_BW.device)[:, None]
        own_WK = self.cells_K == self.slots_W[:, None]
        self.mask.copy_((self.mask[:, 0][texts, parents_BW] | own_WK)[:, None])

    def extend(self, site: str, key: Tensor, value: Tensor) -> KeyValue:
        """Put the newest words into their cells; all cells are given, and the mask says which are there."""
        keys, values = self.growing[site]
        keys.index_copy_(2, self.slots_W, key)
        values.index_copy_(2, self.slots_W, value)
        return keys, values

    def once(self, site: str, make: Callable[[], KeyValue]) -> KeyValue:
        return self.fixed[site]

    def turn(self) -> None:
        """The next word comes."""
        self.slots_W.add_(len(self.beam_W))
        self.positions.add_(1)

    def tensors(self) -> list[Tensor]:
        """All that changes, or that another batch brings, in one order."""
        pairs = [*self.growing.values(), *self.fixed.values()]
        return [self.slots_W, self.positions, self.mask, *(tensor for pair in pairs for tensor in pair)]

    def select(self, texts: Tensor) -> StaticCache:
        """A cache of these texts, in buffers of its own."""
        other = copy(self)
        other.slots_W, other.positions, other.mask = self.slots_W.clone(), self.positions.clone(), self.mask[texts]
        other.growing, other.fixed = (
            {site: (key[texts], value[texts]) for site, (key, value) in store.items()}
            for store in (self.growing, self.fixed)
        )
        return other

    def grow(self, room: int) -> None:
        """Room for so many more words, in new buffers."""
        more = room * len(self.beam_W)
        self.growing = {site: (roomy(key, more), roomy(value, more)) for site, (key, value) in self.growing.items()}
        self.mask = F.pad(self.mask, (0, more))
        self.cells_K = torch.arange(len(self.cells_K) + more, device=self.cells_K.device)


def roomy(old: Tensor, more: int) -> Tensor:
    return F.pad(old, (0, 0, 0, more))
