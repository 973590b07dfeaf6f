"""Attention as the definition reads, in NumPy float64 with a loop for every head, row and cell.

It shares no line and no idea with the package: whatever agrees with it agrees with the definition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

NOWHERE = -math.inf
TINY_LOGIT = -1e4  # exp of it is 0 in float64


@dataclass(frozen=True)
class Answer:
    """Everything that can be asked of one attention; arrays of shape (batch..., heads, queries[, ...])."""

    visible: np.ndarray
    scores: np.ndarray  # -inf where hidden
    weights: np.ndarray
    output: np.ndarray
    lse: np.ndarray
    entropy: np.ndarray
    top_weight: np.ndarray
    top_key: np.ndarray
    distance: np.ndarray
    self_weight: np.ndarray
    first_weight: np.ndarray


def band(queries: int, keys: int, *, causal: bool, window: Any, offset: int | None) -> np.ndarray:
    """Which keys each query may see by causality and window alone."""
    left, right = (None, None) if window is None else window
    shift = keys - queries if offset is None else offset
    grid = np.zeros((queries, keys), dtype=bool)
    for i in range(queries):
        position = i + shift
        for j in range(keys):
            hidden = causal and j > position
            hidden |= left is not None and j < position - left
            hidden |= right is not None and j > position + right
            grid[i, j] = not hidden
    return grid


def split_mask(mask: np.ndarray | None, bias: np.ndarray | None, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """(what masks show, what is added), both of the full shape. A cell is hidden by False or by -inf, nothing else."""
    shown, added = np.ones(shape, dtype=bool), np.zeros(shape)
    for term in (mask, bias):
        if term is None:
            continue
        wide = np.broadcast_to(term, shape)
        if wide.dtype == bool:
            shown &= wide
        else:
            shown &= wide != NOWHERE
            added = added + np.where(wide == NOWHERE, 0.0, wide.astype(np.float64))
    return shown, added


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    *,
    mask: np.ndarray | None = None,
    causal: bool = False,
    window: Any = None,
    offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    bias: np.ndarray | None = None,
    sinks: np.ndarray | None = None,
) -> Answer:
    """The whole answer, head by head and row by row."""
    *batch, heads, queries, dim = query.shape
    keys, group = key.shape[-2], heads // key.shape[-3]
    shown, added = split_mask(mask, bias, (*batch, heads, queries, keys))
    seen = band(queries, keys, causal=causal, window=window, offset=offset)
    scale = 1.0 / math.sqrt(dim) if scale is None else scale
    shift = keys - queries if offset is None else offset
    rows: dict[str, np.ndarray] = empty_answer(tuple(batch), heads, queries, keys, value.shape[-1])
    for where in np.ndindex(*batch, heads):
        at, head = where[:-1], where[-1]
        served = (*at, head // group)
        for i in range(queries):
            scores = score_row(query[*where, i], key[served], scale, softcap, added[*where, i])
            visible = shown[*where, i] & seen[i]
            sink = None if sinks is None else float(sinks[head])
            found = row_answer(scores, visible, shown[*where, i], sink, value[served], i + shift)
            for name, number in found.items():
                rows[name][*where, i] = number
    return Answer(**rows)


def empty_answer(batch: tuple[int, ...], heads: int, queries: int, keys: int, value_dim: int) -> dict[str, np.ndarray]:
    lead = (*batch, heads, queries)
    rows: dict[str, np.ndarray] = {
        "visible": np.zeros((*lead, keys), dtype=bool),
        "scores": np.zeros((*lead, keys)),
        "weights": np.zeros((*lead, keys)),
        "output": np.zeros((*lead, value_dim)),
        "top_key": np.full(lead, -1),
    }
    plain = ("lse", "entropy", "top_weight", "distance", "self_weight", "first_weight")
    return rows | {name: np.zeros(lead) for name in plain}


def score_row(query: np.ndarray, key: np.ndarray, scale: float, softcap: Any, added: np.ndarray) -> np.ndarray:
    scores = np.zeros(len(key))
    for j in range(len(key)):
        score = scale * sum(float(a) * float(b) for a, b in zip(query, key[j], strict=True))
        if softcap is not None:
            score = softcap * math.tanh(score / softcap)
        scores[j] = score + added[j]
    return scores


def row_answer(
    scores: np.ndarray, visible: np.ndarray, shown: np.ndarray, sink: float | None, value: np.ndarray, position: int
) -> dict[str, Any]:
    """One row. `shown` is what masks alone leave, `visible` what band and masks leave together."""
    final = np.where(visible, scores, NOWHERE)
    weights, lse, sink_weight = softmax_row(final, sink)
    empty = not visible.any()
    output = np.zeros(value.shape[-1])
    for j, weight in enumerate(weights):
        if visible[j]:
            output += weight * value[j]
    first = next((j for j in range(len(shown)) if shown[j]), None)
    return {
        "visible": visible,
        "scores": final,
        "weights": weights,
        "output": output,
        "lse": lse,
        "entropy": 0.0 if empty else entropy_of([*weights, sink_weight]),
        "top_weight": 0.0 if empty else max(weights),
        "top_key": -1 if empty else first_largest(final),
        "distance": sum(weight * abs(position - j) for j, weight in enumerate(weights)),
        "self_weight": weights[position] if 0 <= position < len(weights) else 0.0,
        "first_weight": 0.0 if first is None else weights[first],
    }


def softmax_row(final: np.ndarray, sink: float | None) -> tuple[np.ndarray, float, float]:
    """(weights, lse, weight of the sink); all zeros and -inf where there is nothing to weigh."""
    logits = [*final] if sink is None else [*final, sink]
    top = max(logits, default=NOWHERE)
    if top == NOWHERE:
        return np.zeros(len(final)), NOWHERE, 0.0
    exps = [math.exp(max(logit - top, TINY_LOGIT)) for logit in logits]
    total = math.fsum(exps)
    weights = np.array([exp / total for exp in exps[: len(final)]])
    return weights, top + math.log(total), 0.0 if sink is None else exps[-1] / total


def entropy_of(weights: list[float]) -> float:
    return -math.fsum(weight * math.log(weight) for weight in weights if weight > 0)


def first_largest(final: np.ndarray) -> int:
    best = 0
    for j in range(len(final)):
        if final[j] > final[best]:
            best = j
    return best


def received(weights: np.ndarray, weigh: np.ndarray | None = None) -> np.ndarray:
    """Column sums of the weights, each row counted `weigh` times."""
    rows = np.ones(weights.shape[:-1]) if weigh is None else np.broadcast_to(weigh, weights.shape[:-1])
    total = np.zeros((*weights.shape[:-2], weights.shape[-1]))
    for where in np.ndindex(*weights.shape[:-1]):
        total[where[:-1]] += rows[where] * weights[where]
    return total


def tile(
    weights: np.ndarray, rows: tuple[int, int], columns: tuple[int, int], cell: tuple[int, int], pool: str
) -> np.ndarray:
    """The rectangle, each cell of `cell` weights reduced by `pool`; cells at the far edges may be smaller."""
    part = weights[..., slice(*rows), slice(*columns)]
    down, across = (-(-size // step) for size, step in zip(part.shape[-2:], cell, strict=True))
    pooled = np.zeros((*part.shape[:-2], down, across))
    reduce = {"mass": np.sum, "max": np.max, "mean": np.mean}[pool]
    for *where, i, j in np.ndindex(*pooled.shape):
        box = part[*where, i * cell[0] : (i + 1) * cell[0], j * cell[1] : (j + 1) * cell[1]]
        pooled[*where, i, j] = reduce(box)
    return pooled


def rollout(layers: list[np.ndarray], token: int, residual: float = 0.5) -> np.ndarray:
    """Row `token` of the product of (residual * I + (1 - residual) * mean over heads), last layer leftmost."""
    length = layers[0].shape[-1]
    product = np.broadcast_to(np.eye(length), (*layers[0].shape[:-3], length, length))
    for weights in layers:
        mixing = residual * np.eye(length) + (1.0 - residual) * weights.mean(-3)
        product = mixing @ product
    return product[..., token, :]
