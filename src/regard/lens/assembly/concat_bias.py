"""The biases of many steps as one: by their diagonals where they agree, else one under the other."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from regard.lens.assembly.concat_shape import ConcatShape, taken
from regard.lens.assembly.step import AttentionStep
from regard.lens.recording.score_terms import Terms, bounded, unrolled


def concat_bias(site: str, steps: list[AttentionStep], path: Tensor, shape: ConcatShape, terms: Terms) -> Terms:
    """The terms, with what is added to the scores."""
    if not any(has_bias(step) or step.same_bias for step in steps):
        return terms
    diagonals = concat_diagonals(steps, shape) if shape.grows else None
    if diagonals is not None:
        return replace(terms, diagonals=diagonals)
    biases = biases_of(steps)
    heads = max(bias.shape[1] for bias in biases)
    bounded(site, "bias", torch.empty(()).expand(shape.texts, heads, shape.rows, shape.keys))
    blocks = []
    for step, bias, rows in zip(steps, biases, path.T, strict=True):
        block = bias.new_zeros(shape.texts, heads, step.rows, shape.keys)
        block[..., shape.place(step)] = taken(bias.expand(step.texts, heads, step.rows, bias.shape[3]), rows)
        blocks.append(block)
    return replace(terms, bias=torch.cat(blocks, 2))


def has_bias(step: AttentionStep) -> bool:
    return step.map.terms.bias is not None or step.map.terms.diagonals is not None


def biases_of(steps: list[AttentionStep]) -> list[Tensor]:
    """(texts or 1, H, rows or 1, keys) of each step: its own, or the next one's without its furthest key."""
    biases: list[Tensor] = []
    for step in reversed(steps):
        keys, terms = step.stop - step.first, step.map.terms
        if step.same_bias:
            biases.append(biases[-1][..., 1 : 1 + keys])
        elif terms.diagonals is not None:
            biases.append(unrolled(terms.diagonals, slice(0, step.rows), slice(0, keys), step.rows))
        else:
            biases.append(step.map.lse.new_zeros(1, 1, step.rows, keys) if terms.bias is None else terms.bias)
    return biases[::-1]


def concat_diagonals(steps: list[AttentionStep], shape: ConcatShape) -> Tensor | None:
    """(H, rows + keys - 1) that every step agrees on; None if they do not. What no step tells is never looked at."""
    lines = [(step, line_of(step)) for step in steps if has_bias(step)]
    if any(line is None for _, line in lines):
        return None
    heads = max(len(line) for _, line in lines if line is not None)
    like = next(line for _, line in lines if line is not None)
    table = like.new_full((heads, shape.rows + shape.keys - 1), float("nan"))
    for step, line in lines:
        assert line is not None
        row = step.position - shape.base - shape.offset  # the step's first query among all rows
        start = shape.place(step).start - (row + step.rows - 1) + shape.rows - 1
        old = table[:, start : start + line.shape[1]]
        if bool(((old != line) & ~old.isnan()).any()):
            return None
        table[:, start : start + line.shape[1]] = line
    return table.masked_fill(table.isnan(), 0.0)


def line_of(step: AttentionStep) -> Tensor | None:
    """The bias of a step by distance, if that is all it depends on."""
    terms = step.map.terms
    if terms.diagonals is not None:
        return terms.diagonals
    bias = terms.bias
    return bias[0, :, 0] if bias is not None and bias.shape[0] == 1 and step.rows == 1 else None
