"""Beside a map: how undecided each row is, and how much attention each column received."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from regard.lens.recording.forward import ForwardCall


class Marginals(NamedTuple):
    """Of one head: each row's entropy, and what each column received."""

    entropy: Tensor
    received: Tensor


def marginals(call: ForwardCall, site: str, head: int, batch: int = 0) -> Marginals:
    """Read where they were computed when it was recorded; else every weight is computed once."""
    rows, columns = call.extent(site, batch)
    one = call.pick(site, head, batch)
    if one.pooled is not None:
        entropy, received = one.pooled.entropy, one.pooled.received
    else:
        entropy, received = one.statistics().entropy, one.received()
    return Marginals(entropy[0, 0, :rows].float().cpu(), received[0, 0, :columns].float().cpu())


def binned(both: Marginals, bins: int) -> tuple[Tensor, tuple[int, int]]:
    """(2, bins) means, as few bins as it takes, and how many rows and columns a bin stands for."""
    sizes = len(both.entropy), len(both.received)
    cells = max(1, -(-sizes[0] // bins)), max(1, -(-sizes[1] // bins))
    bins = min(bins, max(-(-size // cell) for size, cell in zip(sizes, cells, strict=True)))
    return torch.stack([binned_means(one, cell, bins) for one, cell in zip(both, cells, strict=True)]), cells


def binned_means(values: Tensor, cell: int, bins: int) -> Tensor:
    """The mean of each bin; NaN beyond the last."""
    padded = torch.full((bins * cell,), math.nan)
    padded[: len(values)] = values[: bins * cell]
    return padded.view(bins, cell).nanmean(-1)
