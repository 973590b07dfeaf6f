"""A mask that a model drew itself, as small as it says the same."""

from __future__ import annotations

import torch
from torch import Tensor


def compact(mask: Tensor) -> Tensor | None:
    """Without repeats, boolean where it only hides, None where it hides nothing."""
    mask = smallest(mask)
    if mask.dtype != torch.bool and only_hides(mask):
        mask = mask == 0
    return None if mask.dtype == torch.bool and bool(mask.all()) else mask


def smallest(mask: Tensor) -> Tensor:
    """With size 1 along every dim in which all is the same."""
    for dim in range(mask.ndim):
        if mask.shape[dim] > 1:
            first = mask.narrow(dim, 0, 1)
            mask = first if mask.stride(dim) == 0 or bool((mask == first).all()) else mask
    return mask


def only_hides(mask: Tensor) -> bool:
    """Is an additive mask made of 0 and -inf, or 0 and finfo.min?

    A row of nothing but finfo.min is not empty: its keys share it. Such a mask stays as it is.
    """
    if mask.requires_grad:
        return False
    shown, hidden = mask == 0, mask == float("-inf")
    if bool((shown | hidden).all()):
        return True
    lowest = mask <= torch.finfo(mask.dtype).min / 2
    return bool((shown | lowest).all()) and bool(shown.any(-1).all())
