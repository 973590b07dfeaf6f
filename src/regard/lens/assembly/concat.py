"""Many steps, one map: those of a generation laid under each other, each text along its own path of batch rows.

`path` (texts, steps) says in which row of the batch a text stood at each step, -1 when it had ended. Beams change rows
from step to step; keys that a cache has moved are found where they were first seen.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from regard.attention.second_pass import read_pass
from regard.errors import InputError
from regard.lens.assembly.concat_bias import concat_bias
from regard.lens.assembly.concat_masks import ConcatMasks
from regard.lens.assembly.concat_shape import ConcatShape, taken
from regard.lens.assembly.sampled_rows import sampled
from regard.lens.assembly.step import AttentionStep
from regard.lens.recording.fidelity import together
from regard.lens.recording.map import Map
from regard.lens.recording.score_terms import Terms

ABSENT = float("inf")  # the lse of a row that a text does not have: every weight of it is 0


def concat(site: str, steps: list[AttentionStep], path: Tensor) -> Map:
    """One map (texts, heads, all rows, all keys)."""
    if len(steps) == 1 and torch.equal(path[:, 0], torch.arange(steps[0].texts)):
        return steps[0].map
    steps = steps[: int((path >= 0).any(0).sum())]
    path = path[:, : len(steps)]
    if len(steps) == 1:
        return reordered(steps[0].map, path[:, 0])
    check_rules(site, steps)
    maps = [step.map for step in steps]
    query = torch.cat([taken(one.query, rows) for one, rows in zip(maps, path.T, strict=True)], 2)
    lse = torch.cat([taken(one.lse, rows, ABSENT) for one, rows in zip(maps, path.T, strict=True)], 2)
    key = all_keys([one.key for one in maps], steps, path)
    norms = [one.norms for one in maps if one.norms is not None]
    whole = Map(
        query, key, lse, concat_terms(site, steps, path, key.shape[2]), maps[0].heads,
        all_keys([norm[..., None] for norm in norms], steps, path)[..., 0] if norms else None,
        all(one.projected for one in maps), together(one.badge for one in maps),
    )  # fmt: skip
    return replace(whole, badge=replace(whole.badge, row_sum=max(whole.badge.row_sum, astray(whole))))


def astray(whole: Map) -> float:
    """How far sampled rows are from summing to 1 (with the sink): joined in a wrong order, they would be far."""
    columns, furthest = slice(0, whole.keys), 0.0
    for row in sampled(whole.queries):
        rows = slice(row, row + 1)
        lse = whole.lse[..., rows]
        _, sums = read_pass(whole.query[..., rows, :], whole.key, None, whole.options(rows, columns))
        off = (sums.total.flatten(-3, -2) - lse)[~lse.isinf()].expm1().abs()
        furthest = max(furthest, off.max().item() if off.numel() else 0.0)
    return furthest


def reordered(one: Map, rows: Tensor) -> Map:
    """The same with its texts in another order, some of them perhaps several times."""
    rows = rows.to(one.query.device)
    return replace(
        one, query=one.query[rows], key=one.key[rows], lse=one.lse[rows],
        terms=one.terms.pick(rows, list(range(len(one.heads)))),
        norms=None if one.norms is None else one.norms[rows],
    )  # fmt: skip


def all_keys(pieces: list[Tensor], steps: list[AttentionStep], path: Tensor) -> Tensor:
    """The keys that the steps brought, (texts, J, all positions, D)."""
    base, stop = min(step.first for step in steps), max(step.stop for step in steps)
    like = pieces[0]
    whole = like.new_zeros(len(path), like.shape[1], stop - base, like.shape[-1])
    for piece, step, rows in zip(pieces, steps, path.T, strict=True):
        alive = (rows >= 0).nonzero()[:, 0]
        if piece.shape[2] and len(alive):
            place = slice(step.fresh - base, step.fresh - base + piece.shape[2])
            whole[alive.to(like.device), :, place] = piece[rows[alive].to(piece.device)]
    return whole


def check_rules(site: str, steps: list[AttentionStep]) -> None:
    """Rows computed by different rules make no one map."""
    rules = {(step.map.terms.scale, step.map.terms.softcap) for step in steps}
    if len(rules) > 1:
        raise InputError(
            f"the steps of {site} cannot be made into one map",
            found=f"scale and softcap change: {sorted(map(str, rules))}",
            do="watch each forward by itself",
        )


def concat_terms(site: str, steps: list[AttentionStep], path: Tensor, keys: int) -> Terms:
    """What turns q.k into scores, for all rows at once."""
    shape = ConcatShape.of(steps, path, keys)
    first = steps[0].map.terms
    terms = Terms(first.scale, shape.offset, first.softcap, sinks=first.sinks)
    terms = ConcatMasks(site, steps, path, shape).add_to(terms)
    return concat_bias(site, steps, path, shape, terms)
