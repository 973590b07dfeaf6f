"""Attention written out plainly in float64, from what a held model told: the other side of comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from regard.lens.assembly.recorder import Seen


@dataclass
class Kept:
    """A recorder that only keeps what it is told, copied: a static cache writes over its keys."""

    seen: list[Seen] = field(default_factory=list)
    told: list[tuple[Any, ...]] = field(default_factory=list)

    def begin_call(self, ids: Tensor | None = None, *, target: Tensor | None = None) -> None:
        self.told.append(("begin", ids, target))

    def end_call(self, *, order: Tensor | None = None) -> None:
        self.told.append(("end", order))

    def see(self, seen: Seen) -> None:
        self.told.append(("see", seen.site))
        self.seen.append(replace(seen, query=seen.query.clone(), key=seen.key.clone(), value=seen.value.clone()))


def dense(seen: Seen) -> tuple[Tensor, Tensor]:
    """All weights and the entropy of each row, in float64, written out plainly from what was recorded."""
    options, group = seen.options, seen.query.shape[1] // seen.key.shape[1]
    query, key = seen.query.double(), seen.key.double().repeat_interleave(group, 1)
    scale, cap, sinks = options.get("scale"), options.get("softcap"), options.get("sinks")
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if cap is None else cap * torch.tanh(scores / cap)
    for added in (options.get("bias"), options.get("mask")):
        scores = scores if added is None or added.dtype == torch.bool else scores + added.double()
    scores = scores.masked_fill(~visible(seen), float("-inf"))
    if sinks is not None:
        scores = torch.cat([scores, sinks.double()[:, None, None].expand(*scores.shape[:-1], 1)], -1)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return weights[..., : key.shape[-2]], -torch.special.xlogy(weights, weights).sum(-1)


def visible(seen: Seen) -> Tensor:
    """Which cells the band and a mask of booleans show."""
    options, queries, keys = seen.options, seen.query.shape[-2], seen.key.shape[-2]
    offset = options.get("offset")
    ahead = torch.arange(keys) - torch.arange(queries)[:, None] - (keys - queries if offset is None else offset)
    left, right = options.get("window") or (None, None)
    shown = torch.ones(queries, keys, dtype=torch.bool)
    shown &= (ahead <= 0) if options.get("causal") else True
    shown &= (-ahead <= left) if left is not None else True
    shown &= (ahead <= right) if right is not None else True
    mask = options.get("mask")
    return shown if mask is None or mask.dtype != torch.bool else shown & mask


def far(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max()) if one.numel() else 0.0
