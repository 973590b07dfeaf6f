"""What each row of attention did, gathered in one pass over blocks of keys and kept as numbers a row.

The running sums are those of the online softmax: `m` the largest score so far, `l` the sum of exp(s - m), and beside
them `u`, the sum of exp(s - m) * (s - m), from which the entropy is `log l - u / l`. Keeping the shift inside `u`
holds the float32 error near 1e-7 however large the scores are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.attention.masks import cut
from regard.attention.scores import NOWHERE, LogSum, Scores, both

STRETCH = 64  # keys: so many that vectors are full, and so few that looking at each is little work
FLOOR = -1e4  # exp of it is exactly 0 in every dtype, and 0 * FLOOR is 0 where 0 * -inf would be NaN


@dataclass(frozen=True)
class Statistics:
    """One number a row, each (B..., H, Q), of the weights before dropout.

    A row that may look nowhere has lse -inf (with sinks: the sink), top_key -1 and zeros elsewhere.
    """

    lse: Tensor  # log of the sum of exp(score): weight = exp(score - lse)
    entropy: Tensor  # in nats; a sink takes part
    top_weight: Tensor
    top_key: Tensor  # int64; the first of equals
    distance: Tensor  # sum of weight * |own position - key|
    self_weight: Tensor  # on the key at the query's own position; 0 if there is none
    first_weight: Tensor  # on key 0, or where a mask hides that, on the first key the mask shows


@dataclass
class Running:
    """The sums of one block of rows while its blocks of keys go by. Every field is (B..., J, G, rows)."""

    scores: Scores
    rows: slice
    full: bool  # all the statistics, or only what the output needs
    m: Tensor = field(init=False)
    l: Tensor = field(init=False)  # noqa: E741 - the letter of the equation
    u: Tensor = field(init=False)
    distance: Tensor = field(init=False)
    top_key: Tensor = field(init=False)
    top_score: Tensor = field(init=False)  # the largest score of a key: m may go on to a sink
    position: Tensor = field(init=False)  # of each row among the keys
    own_score: Tensor = field(init=False)
    first: Tensor = field(init=False)  # the key whose weight is first_weight
    first_score: Tensor = field(init=False)
    lit: Tensor = field(init=False)  # did the row see anything at all?

    def __post_init__(self) -> None:
        query = self.scores.query_BJGQD[..., self.rows, 0]
        self.m = torch.full_like(query, NOWHERE)
        self.l = torch.zeros_like(query)
        self.lit = torch.zeros((), dtype=torch.bool, device=query.device)
        if self.full:
            self.u, self.distance = torch.zeros_like(query), torch.zeros_like(query)
            self.top_key = torch.full_like(query, -1, dtype=torch.int64)
            self.own_score, self.first_score = torch.full_like(query, NOWHERE), torch.full_like(query, NOWHERE)
            sight = self.scores.rule.sight
            self.position = torch.arange(self.rows.start, self.rows.stop, device=query.device) + sight.offset
            self.first = first_shown(self.scores, self.rows)

    def add(self, columns: slice) -> tuple[Tensor, Tensor]:
        """Take in one block of keys: exp(s - m) of the block, and the factor for everything summed before."""
        scores, visible = self.scores.block(self.rows, columns)
        self.lit = torch.ones_like(self.lit) if visible is None else self.lit | visible.any(-1)
        block_top, block_key = largest(scores) if self.full else (scores.amax(-1), None)
        if block_key is not None:
            self._pick(scores, columns)
            self.top_key = torch.where(~(block_top <= self.m), block_key + columns.start, self.top_key)
        shifted, factor = self._shift(block_top, scores)
        exps = shifted.exp()
        mass = exps.sum(-1)
        if self.full:
            self.u += shifted.mul_(exps).sum(-1)
            self.distance = self.distance * factor + self._distances(exps, mass, columns)
        self.l += mass
        return exps, factor

    def _shift(self, top: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Raise m to include `top`, bring l and u to the new m, and give s - m and the factor exp(old m - new m)."""
        higher = torch.maximum(self.m, top)
        anchor = higher.masked_fill(higher == NOWHERE, 0.0)
        fall = self.m - anchor
        factor = fall.exp()
        if self.full:  # further down than FLOOR the factor is 0, and 0 * -inf would be NaN
            self.u = factor * torch.addcmul(self.u, fall.clamp_(min=FLOOR), self.l)
        self.l = self.l * factor
        self.m = higher
        return scores.sub_(anchor[..., None]).clamp_(min=FLOOR), factor

    def _pick(self, scores: Tensor, columns: slice) -> None:
        """Keep the raw scores of the two keys each row is asked about, when they are in this block."""
        offset = self.scores.rule.sight.offset
        if columns.start < self.rows.stop + offset and columns.stop > self.rows.start + offset:
            self.own_score = torch.maximum(self.own_score, _at(scores, self.position - columns.start))
        if columns.start == 0 or self.scores.hides:
            self.first_score = torch.maximum(self.first_score, _at(scores, self.first - columns.start))

    def _distances(self, exps: Tensor, mass: Tensor, columns: slice) -> Tensor:
        """Sum of exp(s - m) * |position - key|; a block on one side of the diagonal needs no grid of distances."""
        width, offset = columns.stop - columns.start, self.scores.rule.sight.offset
        within = torch.arange(width, device=exps.device, dtype=exps.dtype)
        # Counting from the near edge adds positive terms only: there is nothing to cancel.
        if columns.stop - 1 <= self.rows.start + offset:
            beyond, inner = self.position - (columns.stop - 1), exps @ (width - 1 - within)
        elif columns.start >= self.rows.stop - 1 + offset:
            beyond, inner = columns.start - self.position, exps @ within
        else:
            grid: Tensor = ((self.position - columns.start)[:, None] - within).abs_()
            return (exps * grid).sum(-1)
        return torch.addcmul(inner, beyond.to(mass.dtype), mass)

    def finish(self) -> Tensor:
        """Let the sinks join; afterwards l is never 0 but where a row saw nothing. Gives exp(m - new m)."""
        sinks_JG = self.scores.sinks_JG
        self.top_score = self.m
        if sinks_JG is None:
            return torch.ones_like(self.m)
        sink = sinks_JG[..., None].expand_as(self.m)
        shifted, factor = self._shift(sink, sink[..., None].clone())
        exps = shifted[..., 0].exp().masked_fill(sink == NOWHERE, 0.0)
        self.l += exps
        if self.full:
            self.u += exps * shifted[..., 0]
            self.distance = self.distance * factor
        return factor

    @property
    def empty(self) -> Tensor:
        """Rows that could look at no key: decided by what is visible, never by looking for NaN."""
        return ~self.lit.expand_as(self.m)

    def lse(self) -> LogSum:
        """Of a row that saw nothing, and has no sink, -inf and 0."""
        blank = self.l == 0
        return LogSum(self.m.masked_fill(blank, NOWHERE), self.l.log().masked_fill(blank, 0.0))

    def statistics(self) -> tuple[Tensor, ...]:
        """The fields of `Statistics` behind lse, grouped, in their order."""
        lse, empty = self.lse(), self.empty
        entropy = (self.l.log() - self.u / self.l).clamp(min=0.0)
        weights = [(score - lse.top - lse.rest).exp() for score in (self.top_score, self.own_score, self.first_score)]
        fields = [entropy, weights[0], self.distance / self.l, weights[1], weights[2]]
        entropy, top, distance, own, first = (value.masked_fill(empty, 0.0) for value in fields)
        return entropy, top, self.top_key.masked_fill(empty, -1), distance, own, first


def first_shown(scores: Scores, rows: slice) -> Tensor:
    """The first key that the masks (not the band) show to each row: key 0 unless it is padding."""
    sight, columns = scores.rule.sight, slice(0, scores.rule.sight.keys)
    mask = None if sight.mask is None else cut(sight.mask, rows, columns)
    shown = both(mask, scores.shown(rows, columns))
    if shown is None or not sight.keys:
        return torch.zeros(rows.stop - rows.start, dtype=torch.int64, device=scores.device)
    return shown.to(torch.uint8).argmax(-1)


def largest(scores: Tensor) -> tuple[Tensor, Tensor]:
    """The largest score of each row and where it is, the first of equals.

    On a CPU to find where takes ten times as long as to find how large: so first the largest of each stretch of keys,
    and then where it is in the one stretch that has it.
    """
    keys = scores.shape[-1]
    if scores.device.type != "cpu" or keys % STRETCH or keys < STRETCH * STRETCH // 4:
        top, key = scores.max(-1)
        return top, key
    stretches = torch.unflatten(scores, -1, (-1, STRETCH))
    top, stretch = stretches.amax(-1).max(-1)
    index = stretch[..., None, None].expand(*stretch.shape, 1, STRETCH)
    return top, stretch * STRETCH + stretches.gather(-2, index)[..., 0, :].argmax(-1)


def _at(scores: Tensor, columns: Tensor) -> Tensor:
    """The score of each row at its own column, -inf where that column is not in the block."""
    inside = (columns >= 0) & (columns < scores.shape[-1])
    index = columns.clamp(0, scores.shape[-1] - 1).expand(scores.shape[:-1])
    return scores.gather(-1, index[..., None])[..., 0].masked_fill(~inside, NOWHERE)
