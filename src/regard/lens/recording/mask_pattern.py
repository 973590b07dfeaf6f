"""What a drawn mask or bias really says: a band and a row of keys, or one number for each distance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.masks import Sight
from regard.attention.scores import blocks

ROWS = 512  # looked at together while a rule is sought


@dataclass(frozen=True)
class Band:
    """Each query sees so far to the left and right of its own position, as far as the keys are shown at all."""

    offset: int
    left: int | None
    right: int | None
    rest: Tensor  # (B, H, 1, K): which keys are shown


def find_band(mask: Tensor, offset: int, *, fixed: bool = False) -> Band | None:
    """The band of a boolean mask (B, H, Q, K), if it is one; the offset is sought too, unless it is fixed.

    A cache with room to spare hides what nobody has written yet: the last query stands where the last shown key does.
    """
    offsets, queries = [offset], mask.shape[2]
    shown = mask.flatten(0, 2).any(0).nonzero()
    if not fixed and len(shown) >= queries:
        offsets.append(int(shown.max()) + 1 - queries)
    candidates = (as_band(mask, offset) for offset in dict.fromkeys(offsets))
    return next((band for band in candidates if band is not None), None)


def as_band(mask: Tensor, offset: int) -> Band | None:
    """The window and the keys that together are this boolean mask, if there are such."""
    queries, keys = mask.shape[-2:]
    shown = mask.any(-2, keepdim=True)
    left, right = reach(mask, offset)
    sight = Sight.over(queries, keys, offset, (left, right))
    for rows in blocks(slice(0, queries), ROWS):
        band = sight.band(rows, slice(0, keys), mask.device)
        if not torch.equal(mask[..., rows, :], (shown if band is None else shown & band).expand_as(mask[..., rows, :])):
            return None
    return Band(offset, sight.left, sight.right, shown)


def reach(mask: Tensor, offset: int) -> tuple[int, int]:
    """How far any query looks to the left and to the right of its own position."""
    queries, keys = mask.shape[-2:]
    columns = torch.arange(keys, device=mask.device)
    left = right = 0
    for rows in blocks(slice(0, queries), ROWS):
        block = mask[..., rows, :]
        lit = block.any(-1)
        if bool(lit.any()):
            own = torch.arange(rows.start, rows.stop, device=mask.device) + offset
            left = max(left, int((own - torch.where(block, columns, keys).amin(-1))[lit].max()))
            right = max(right, int((torch.where(block, columns, -1).amax(-1) - own)[lit].max()))
    return left, right


def depends_on_distance(bias: Tensor) -> bool:
    """Is every diagonal one number?"""
    return all(
        torch.equal(bias[..., rows.start + 1 : rows.stop + 1, 1:], bias[..., rows, :-1])
        for rows in blocks(slice(0, bias.shape[-2] - 1), ROWS)
    )
