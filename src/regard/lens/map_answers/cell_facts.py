"""One cell of a map, and what it is made of: from the score, product by product, to the weight."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from regard.lens.recording.forward import ForwardCall
from regard.lens.recording.map import Map

ROW_TOP = 10  # keys of the row that come along


@dataclass(frozen=True)
class CellFacts:
    """Score, scaled score and weight of a query and a key; `row_top` are the columns of the row's largest weights."""

    query: list[float]
    key: list[float]
    score: float
    scale: float
    softcap: float | None
    bias: float
    scaled: float | None  # None where the mask forbids it
    masked: bool
    lse: float | None
    weight: float
    value_norm: float | None  # None where values were not kept
    rank: int
    row_top: list[tuple[int, float]]

    @property
    def products(self) -> list[float]:
        return [query * key for query, key in zip(self.query, self.key, strict=True)]


def cell_facts(call: ForwardCall, site: str, head: int, row: int, column: int, batch: int = 0) -> CellFacts:
    """Why this cell."""
    one = call.pick(site, head, batch)
    query, key = one.query[0, 0, row].double().cpu(), one.key[0, 0, column].double().cpu()
    weights = call.row(site, head, row, batch)
    best = weights.float().topk(min(ROW_TOP, len(weights)))
    score = float(query @ key)
    scaled, bias = scaled_score(one, row, column, score)
    return CellFacts(
        query=query.tolist(), key=key.tolist(), score=score, scale=one.terms.scale, softcap=one.terms.softcap,
        bias=bias, scaled=scaled, masked=scaled is None, lse=finite(float(one.lse[0, 0, row])),
        weight=float(weights[column]), value_norm=None if one.norms is None else finite(float(one.norms[0, 0, column])),
        rank=1 + int((weights > weights[column]).sum()),
        row_top=list(zip(best.indices.tolist(), best.values.tolist(), strict=True)),
    )  # fmt: skip


def scaled_score(one: Map, row: int, column: int, score: float) -> tuple[float | None, float]:
    """What the softmax is given, None where it may not look; and what was added."""
    shown, added = one.terms.at(torch.tensor([row]), torch.tensor([column]), one.queries)
    bias = 0.0 if added is None else float(added[0, 0])
    if not bool(shown[0, 0]) or bias == -math.inf:
        return None, finite(bias) or 0.0
    scaled = one.terms.scale * score
    if one.terms.softcap is not None:
        scaled = one.terms.softcap * math.tanh(scaled / one.terms.softcap)
    return scaled + (finite(bias) or 0.0), finite(bias) or 0.0


def finite(number: float) -> float | None:
    """JSON has no infinity."""
    return number if math.isfinite(number) else None
