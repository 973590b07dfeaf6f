"""Keys and values of the words already read, so that each new word costs one step and not all of them again."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.models.layers import KeyValue


class KeyValueCache:
    """By site: what grows with every word (self-attention), and what is made once (cross-attention)."""

    def __init__(self) -> None:
        self.length = 0  # positions read so far; the stepper moves it on after each step
        self.growing: dict[str, KeyValue] = {}  # buffers with room to spare, filled up to `length`
        self.fixed: dict[str, KeyValue] = {}
        self.spare: dict[str, KeyValue] = {}  # where rows move to and fro, so that no step asks for new memory

    def extend(self, site: str, key: Tensor, value: Tensor) -> KeyValue:
        """Put the newest keys and values behind the others; gives a view of all of them."""
        stop = self.length + key.shape[-2]
        keys, values = self.growing.get(site, (key[..., :0, :], value[..., :0, :]))
        if keys.shape[-2] < stop:
            keys, values = (roomier(old[..., : self.length, :], stop) for old in (keys, values))
            self.growing[site] = keys, values
        keys[..., self.length : stop, :] = key
        values[..., self.length : stop, :] = value
        return keys[..., :stop, :], values[..., :stop, :]

    def once(self, site: str, make: Callable[[], KeyValue]) -> KeyValue:
        """What does not change from word to word."""
        if site not in self.fixed:
            self.fixed[site] = make()
        return self.fixed[site]

    def select(self, index: Tensor, *, source: bool = True) -> None:
        """Go on with other rows of the batch, in the order of `index`: beams that die out and beams that branch.

        Beams of one text all look at the same source: while they only change places among themselves, its keys and
        values may stay where they are (`source=False`).
        """
        self.growing = {site: moved(pair, index) for site, pair in self.growing.items()}
        self.spare.clear()
        if source:
            self.select_source(index)

    def reorder(self, index: Tensor) -> None:
        """As `select` without the source, for at most as many rows as there are, and in memory that is there already.

        What earlier steps gave is written over: for those who look at it no longer.
        """
        rows = len(index)
        for site, pair in self.growing.items():
            spare = self.spare.get(site)
            if spare is None or spare[0].shape[1:] != pair[0].shape[1:] or rows > len(spare[0]):
                spare = moved(pair, index)
            else:
                spare = spare[0][:rows], spare[1][:rows]
                for old, new in zip(pair, spare, strict=True):
                    torch.index_select(old, 0, index, out=new)
            self.growing[site], self.spare[site] = spare, (pair[0][:rows], pair[1][:rows])

    def select_source(self, index: Tensor) -> None:
        """Keep the keys and values of these sources, in this order."""
        self.fixed = {site: moved(pair, index) for site, pair in self.fixed.items()}


def moved(pair: KeyValue, index: Tensor) -> KeyValue:
    key, value = pair
    return key.index_select(0, index), value.index_select(0, index)


def roomier(old: Tensor, needed: int) -> Tensor:
    """The same in a buffer a quarter longer: growing costs little in all, and beams move no more than they must."""
    length = old.shape[-2]
    room = max(needed, length + max(length // 4, 4))
    new = old.new_empty(*old.shape[:-2], room, old.shape[-1])
    new[..., :length, :] = old
    return new
