"""Dropout: which cells are kept, drawn quickly and, from the same generator, again."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 1 << 16  # the rate is kept to a sixteen-bit fraction, and the factor fits it exactly


def drop(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """In training, x with a share of its cells set to 0 and the rest made larger, so that the mean stays."""
    if not rate or not training:
        return x
    return x * keep_factors(x, rate) if x.device.type == "cpu" else F.dropout(x, rate, training=True)


def keep_factors(like: Tensor, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """The factor of each cell: 0, or 1 / (1 - rate).

    On a CPU drawing is most of what dropout costs, so one draw of 64 bits decides four cells.
    """
    if like.device.type != "cpu":
        keep = torch.rand(like.shape, generator=generator, device=like.device) >= rate
        return keep.to(like.dtype).div_(1.0 - rate)
    dropped, cells = min(round(rate * LEVELS), LEVELS - 1), like.numel()
    draws = torch.empty(-(-cells // 4), dtype=torch.int64).random_(-(1 << 63), None, generator=generator)
    keep = draws.view(torch.int16)[:cells].view(like.shape) >= dropped - LEVELS // 2
    return keep.to(like.dtype).mul_(LEVELS / (LEVELS - dropped))
