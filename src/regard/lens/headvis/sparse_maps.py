"""The strongest weights of every head on one text, in cells that are numbered along one axis of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.scores import blocks
from regard.lens.recording.forward import ForwardCall

KEYS, LEAST = 8, 0.005  # keys of a row at most, and the smallest weight: HeadVis asks for files of some megabytes
BLOCK = 1 << 22  # weights that exist at a time


@dataclass(frozen=True)
class SparseMap:
    """One head on one text: the cell of query q and key k is number q * len(tokens) + k."""

    text: int
    tokens: list[str]
    cells: list[int]
    weights: list[float]
    largest: float  # but for what is strong nearly everywhere


def texts_of(calls: Sequence[ForwardCall], site: str | None = None) -> Iterator[tuple[int, ForwardCall, int]]:
    """The number of each text, its call, and its place in the batch; of a site only where it was called."""
    number = 0
    for call in calls:
        for batch in range(max((len(one.query) for one in call.maps.values()), default=0)):
            if site is None or (site in call.maps and batch < len(call.map(site).query)):
                yield number, call, batch
            number += 1


def maps_by_head(calls: Sequence[ForwardCall], site: str) -> dict[int, list[SparseMap]]:
    """What each head of a site did with each text."""
    maps: dict[int, list[SparseMap]] = {}
    for number, call, batch in texts_of(calls, site):
        for head, one in zip(call.map(site).heads, sparse_maps(call, site, batch, number), strict=True):
            maps.setdefault(head, []).append(one)
    return maps


def sparse_maps(call: ForwardCall, site: str, batch: int = 0, number: int = 0) -> list[SparseMap]:
    """Of each head of a site on one text; some rows at a time."""
    (rows, columns), heads = call.extent(site, batch), len(call.map(site).heads)
    tokens, first = one_axis(call, site, batch)
    cells: list[list[int]] = [[] for _ in range(heads)]
    values: list[list[float]] = [[] for _ in range(heads)]
    largest = [0.0] * heads
    for part in blocks(slice(0, rows), max(1, BLOCK // max(1, heads * columns))):
        weights_HRC = call.weights(site, None, part, batch=batch).float().nan_to_num(0.0).cpu()
        queries = torch.arange(part.start, part.stop) + first
        top = weights_HRC.topk(min(KEYS, columns), -1)
        numbers = queries[:, None] * len(tokens) + top.indices
        enough = top.values >= LEAST
        for head, best in enumerate(remarkable(weights_HRC, queries).amax((1, 2)).tolist()):
            cells[head] += numbers[head][enough[head]].tolist()
            values[head] += map(rounded, top.values[head][enough[head]].double().tolist())
            largest[head] = max(largest[head], best)
    return [SparseMap(number, tokens, *parts) for parts in zip(cells, values, largest, strict=True)]


def one_axis(call: ForwardCall, site: str, batch: int) -> tuple[list[str], int]:
    """Tokens for both sides of a square map, and where its queries begin.

    Where a site looks from one text at another, that of the keys comes first, and after it that of the queries.
    """
    queries, keys = ([str(token) for token in side] for side in call.labels(site, batch))
    if call.crosses(site):
        return [*keys, *queries], len(keys)
    first = max(0, call.map(site).terms.offset)
    return [*keys, *queries[max(0, len(keys) - first) :]], first


def remarkable(weights_HRC: Tensor, queries: Tensor) -> Tensor:
    """Without what is strong nearly everywhere: the first row, the first column, and each token on itself."""
    columns = torch.arange(weights_HRC.shape[-1])
    hidden = (queries[:, None] == 0) | (columns == 0) | (queries[:, None] == columns)
    return weights_HRC.masked_fill(hidden, 0.0)


def rounded(number: float) -> float:
    """Digits enough for a picture; more would double the files."""
    return round(float(number), 4)
