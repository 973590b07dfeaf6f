"""The biases of many parts as one: by their diagonals where they agree, else one under the other."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from regard.lens.assembly.step import Joint, Part, taken
from regard.lens.recording.score_terms import Terms, bounded, unrolled


def joined_bias(site: str, parts: list[Part], path: Tensor, shape: Joint, terms: Terms) -> Terms:
    """The terms, with what is added to the scores."""
    if not any(has_bias(part) or part.same_bias for part in parts):
        return terms
    diagonals = joined_diagonals(parts, shape) if shape.grows else None
    if diagonals is not None:
        return replace(terms, diagonals=diagonals)
    biases = biases_of(parts)
    heads = max(bias.shape[1] for bias in biases)
    bounded(site, "bias", torch.empty(()).expand(shape.texts, heads, shape.rows, shape.keys))
    blocks = []
    for part, bias, rows in zip(parts, biases, path.T, strict=True):
        block = bias.new_zeros(shape.texts, heads, part.rows, shape.keys)
        block[..., shape.place(part)] = taken(bias.expand(part.texts, heads, part.rows, bias.shape[3]), rows)
        blocks.append(block)
    return replace(terms, bias=torch.cat(blocks, 2))


def has_bias(part: Part) -> bool:
    return part.map.terms.bias is not None or part.map.terms.diagonals is not None


def biases_of(parts: list[Part]) -> list[Tensor]:
    """(texts or 1, H, rows or 1, keys) of each part: its own, or the next one's without its furthest key."""
    found: list[Tensor] = []
    for part in reversed(parts):
        keys, terms = part.stop - part.first, part.map.terms
        if part.same_bias:
            found.append(found[-1][..., 1 : 1 + keys])
        elif terms.diagonals is not None:
            found.append(unrolled(terms.diagonals, slice(0, part.rows), slice(0, keys), part.rows))
        else:
            found.append(torch.zeros(1, 1, part.rows, keys) if terms.bias is None else terms.bias)
    return found[::-1]


def joined_diagonals(parts: list[Part], shape: Joint) -> Tensor | None:
    """(H, rows + keys - 1) that every part agrees on; None if they do not. What no part tells is never looked at."""
    lines = [(part, line_of(part)) for part in parts if has_bias(part)]
    if any(line is None for _, line in lines):
        return None
    heads = max(len(line) for _, line in lines if line is not None)
    dtype = next(line.dtype for _, line in lines if line is not None)
    table = torch.full((heads, shape.rows + shape.keys - 1), float("nan"), dtype=dtype)
    for part, line in lines:
        assert line is not None
        row = part.position - shape.base - shape.offset  # the part's first query among all rows
        start = shape.place(part).start - (row + part.rows - 1) + shape.rows - 1
        old = table[:, start : start + line.shape[1]]
        if bool(((old != line) & ~old.isnan()).any()):
            return None
        table[:, start : start + line.shape[1]] = line
    return table.masked_fill(table.isnan(), 0.0)


def line_of(part: Part) -> Tensor | None:
    """The bias of a part by distance, if that is all it depends on."""
    terms = part.map.terms
    if terms.diagonals is not None:
        return terms.diagonals
    bias = terms.bias
    return bias[0, :, 0] if bias is not None and bias.shape[0] == 1 and part.rows == 1 else None
