"""The masks of many steps as one: a window and a row of keys wherever that tells it all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.masks import Sight, Window
from regard.attention.scores import NOWHERE
from regard.lens.assembly.concat_shape import ConcatShape, taken
from regard.lens.assembly.step import AttentionStep
from regard.lens.recording.score_terms import Terms, bounded


@dataclass(frozen=True)
class ConcatMasks:
    """Of the steps of one site, each text along its path."""

    site: str
    steps: list[AttentionStep]
    path: Tensor
    shape: ConcatShape

    def add_to(self, terms: Terms) -> Terms:
        """The terms, with all that is hidden. Masks are put together on the CPU, and then lie where the queries do."""
        window, masks = self.window(), self.masks()
        plain = all(mask is None or (mask.shape[2] == 1 and mask.dtype == torch.bool) for mask in masks)
        shown = self.key_mask(masks) if plain and window is not None else None
        if window is None or (shown is None and any(mask is not None for mask in masks)):
            ahead = self.in_a_row() and all(self.bound_of(step)[0][1] == 0 for step in self.steps)
            return replace(terms, mask=self.dense_mask(masks).to(self.device), causal=ahead)
        left, right = window
        shown = None if shown is None else shown.to(self.device)
        return replace(terms, mask=shown, causal=right == 0, window=(left, None if right == 0 else right))

    @property
    def device(self) -> torch.device:
        return self.steps[0].map.query.device

    def window(self) -> Window | None:
        """The one window that tells what every row sees by position; None: there is none."""
        bounds = {self.bound_of(step) for step in self.steps}
        lefts = {left for (left, _), _ in bounds if left is not None}
        rights = {right for (_, right), _ in bounds}
        if len(lefts) > 1 or len(rights) > 1 or not self.in_a_row():
            return None
        left = next(iter(lefts), None)
        # A step whose rows all see to the very start agrees with any window that reaches so far.
        if any(own is None and left is not None and reach > left for (own, _), reach in bounds):
            return None
        return left, next(iter(rights))

    def bound_of(self, step: AttentionStep) -> tuple[Window, int]:
        """How far the rows of a step may look to each side, and how far the last of them could at most."""
        left, right = step.map.terms.bound
        if self.shape.grows and step.rows == 1 and step.position == step.stop - 1:
            right = 0  # the newest token sees no further than itself
        if step.first > self.shape.base and left is None and step.rows == 1:
            left = step.position - step.first  # a sliding cache has forgotten the rest
        return (left, right), step.position + step.rows - 1 - self.shape.base

    def in_a_row(self) -> bool:
        """Does each step begin where the last one stopped? Where keys do not grow there is no such thing to ask."""
        if not self.shape.grows:
            return all(step.map.terms.bound == (None, None) for step in self.steps)
        pairs = zip(self.steps, self.steps[1:], strict=False)
        return all(step.position == before.position + before.rows for before, step in pairs)

    def masks(self) -> list[Tensor | None]:
        """The mask of each step: its own, or the beginning of the next one's."""
        masks: list[Tensor | None] = []
        for step in reversed(self.steps):
            later = masks[-1] if masks else None
            follows = step.same_mask and later is not None
            masks.append(later[..., : step.stop - step.first] if follows and later is not None else step.map.terms.mask)
        return masks[::-1]

    def key_mask(self, masks: list[Tensor | None]) -> Tensor | None:
        """(texts, H, 1, keys): one row of keys for each text, if its steps agree on one."""
        if all(mask is None for mask in masks):
            return None
        heads = max(mask.shape[1] for mask in masks if mask is not None)
        whole = torch.ones(self.shape.texts, heads, 1, self.shape.keys, dtype=torch.bool)
        known = torch.zeros_like(whole)
        for number in reversed(range(len(self.steps))):
            rows, place = self.path[:, number], self.shape.place(self.steps[number])
            alive = (rows >= 0).nonzero()[:, 0]
            before = whole[alive, :, :, place]
            mine = spread(masks[number], self.steps[number])[rows[alive]].expand_as(before)
            if bool((known[alive, :, :, place] & (mine != before)).any()):
                return None
            whole[alive, :, :, place] = mine
            known[alive, :, :, place] = True
        return whole

    def dense_mask(self, masks: list[Tensor | None]) -> Tensor:
        """Cell by cell, for the few cases that nothing shorter tells."""
        heads = max([1, *(mask.shape[1] for mask in masks if mask is not None)])
        bounded(self.site, "mask", torch.empty(()).expand(self.shape.texts, heads, self.shape.rows, self.shape.keys))
        added = [mask.dtype for mask in masks if mask is not None and mask.dtype != torch.bool]
        return torch.cat([
            self.dense_block(step, mask, rows, added[0] if added else torch.bool).expand(-1, heads, -1, -1)
            for step, mask, rows in zip(self.steps, masks, self.path.T, strict=True)
        ], 2)  # fmt: skip

    def dense_block(self, step: AttentionStep, mask: Tensor | None, rows: Tensor, dtype: torch.dtype) -> Tensor:
        """What the rows of one step see of all keys, or what is added there to their scores."""
        keys, terms = step.stop - step.first, step.map.terms
        band = Sight.over(step.rows, keys, terms.offset, terms.bound).band(
            slice(0, step.rows), slice(0, keys), torch.device("cpu")
        )
        mine = as_numbers(spread(mask, step), dtype)
        nowhere = NOWHERE if dtype != torch.bool else False
        mine = mine if band is None else torch.where(band, mine, nowhere)
        block = torch.full((self.shape.texts, mine.shape[1], step.rows, self.shape.keys), nowhere, dtype=dtype)
        block[..., self.shape.place(step)] = taken(mine, rows, nowhere)
        return block


def as_numbers(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask of numbers to add, unless booleans are wanted."""
    if mask.dtype != torch.bool or dtype == torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, NOWHERE)


def spread(mask: Tensor | None, step: AttentionStep) -> Tensor:
    """A mask with a row for every text of the batch."""
    keys = step.stop - step.first
    mask = torch.ones(1, 1, 1, keys, dtype=torch.bool) if mask is None else mask.cpu()
    return mask.expand(step.texts, mask.shape[1], mask.shape[2], keys)
