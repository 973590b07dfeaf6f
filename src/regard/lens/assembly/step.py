"""What is kept of one attention: its row of steps is what a map is concatenated from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention import tile
from regard.attention.inputs import ScoreOptions
from regard.attention.logsumexp import logsumexp, worthwhile
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.recording.fidelity import Badge
from regard.lens.recording.map import Map
from regard.lens.recording.score_terms import Terms, hidden, terms_of

SAMPLED = 8  # rows of each attention that are compared
PROJECTED = 1 << 24  # numbers that exist at a time while values go through W_O


@dataclass(frozen=True)
class AttentionCapture:
    """One attention, as it was computed; its tensors need live only during the call."""

    site: str
    query: Tensor  # (B, H, Q, D)
    key: Tensor  # (B, J, K, D), key heads not expanded
    value: Tensor  # (B, J, K, V)
    output: Tensor  # (B, H, Q, V), what the model really used
    options: ScoreOptions  # as `attend` takes them
    implementation: str  # for people: "regard", "sdpa"
    first_key: int = 0  # the position of key 0 in the text, when a sliding cache has dropped earlier keys
    dropout: float = 0.0  # with dropout the output is not that of the weights alone, and is not compared
    lse: Tensor | None = None  # (B, H, Q), where the computation gave it
    projection: Tensor | None = None  # W_O (model dim, H x V), where it is known
    compact: bool = False  # is the mask as small as it can be?


@dataclass
class AttentionStep:
    """One attention. Positions count from the start of the text, also where a cache has dropped its beginning."""

    map: Map  # its terms are over the keys first..stop; its keys only those that no earlier step has
    first: int
    stop: int
    fresh: int  # the position of the first key that is kept here
    turn: int = 0  # of its call
    same_mask: bool = False  # the next step's mask begins with this one's, which is not kept
    same_bias: bool = False  # the next step's bias is this one's for one distance more
    values: ProjectedValues | None = None  # until it is known which keys are new

    @property
    def rows(self) -> int:
        return self.map.query.shape[-2]

    @property
    def position(self) -> int:
        """Of the first query."""
        return self.first + self.map.terms.offset

    @property
    def texts(self) -> int:
        return len(self.map.query)

    @property
    def written(self) -> int:
        """Up to which position any row may look: a cache with room to spare hides what nobody has written yet."""
        mask = self.map.terms.mask
        if mask is None or mask.shape[3] == 1:
            return self.stop
        looked_at = (~hidden(mask)).flatten(0, 2).any(0).nonzero()
        return self.first + int(looked_at.max()) + 1 if len(looked_at) else self.first

    def up_to(self, stop: int) -> AttentionStep:
        """The same over the keys before `stop`, the last of which are the rows' own."""
        keys, stay, terms = stop - self.first, max(stop - self.fresh, 0), self.map.terms
        terms = replace(terms.trim(keys, self.rows), offset=keys - self.rows)
        norms = None if self.map.norms is None else self.map.norms[:, :, :stay]
        return replace(self, map=replace(self.map, key=self.map.key[:, :, :stay], terms=terms, norms=norms), stop=stop)


def step_of(capture: AttentionCapture, options: WatchOptions) -> AttentionStep:
    """What is needed of one attention, still on its device and with all its keys."""
    total, served = capture.query.shape[1], capture.key.shape[1]
    heads = options.heads_of(capture.site, total)
    query, key, value, output, lse = capture.query, capture.key, capture.value, capture.output, capture.lse
    terms = terms_of(capture.site, query, key, capture.options, compact=capture.compact)
    if options.heads is not None:
        theirs = [head // (total // served) for head in heads]
        query, output, key, value = query[:, heads], output[:, heads], key[:, theirs], value[:, theirs]
        terms, lse = terms.pick(slice(None), list(heads)), None if lse is None else lse[:, heads]
    ahead = terms.offset + query.shape[2]
    if terms.bound[1] == 0 and 0 < ahead < key.shape[2]:  # a cache with room to spare: nobody looks at the rest
        key, value, terms = key[:, :, :ahead], value[:, :, :ahead], terms.trim(ahead, query.shape[2])
    if options.dtype is not None and options.dtype != query.dtype:
        query, key, lse = query.to(options.dtype), key.to(options.dtype), None
    if lse is None or not worthwhile(query, key):
        lse = lse_of(query, key, terms)
    one = Map(query, key, lse, terms, heads)
    one = replace(one, badge=compared(one, value, output, capture))
    step = AttentionStep(one, capture.first_key, capture.first_key + key.shape[2], capture.first_key)
    step.values = ProjectedValues(value, capture.projection) if options.values else None
    return step


def lse_of(query: Tensor, key: Tensor, terms: Terms) -> Tensor:
    """(B, H, Q), from queries and keys alone; some rows at a time where a bias has to be laid out for them."""
    queries, columns = query.shape[-2], slice(0, key.shape[-2])
    return torch.cat([
        logsumexp(query[..., rows, :], key, **terms.options(rows, columns, queries))
        for rows in terms.blocks(slice(0, queries), key.shape[-2])
    ], -1)  # fmt: skip


@dataclass(frozen=True)
class ProjectedValues:
    """The values of one attention, and the matrix that each head's output goes through."""

    value: Tensor  # (B, J, K, V)
    projection: Tensor | None  # W_O (model dim, all heads x V)

    def norms(self, heads: tuple[int, ...], new: slice) -> Tensor:
        """(B, H, new keys): the norm of each value through W_O, of the value alone where the matrix is not known."""
        value = self.value[:, :, new].to(torch.promote_types(self.value.dtype, torch.float32))
        value = value.repeat_interleave(len(heads) // value.shape[1], 1)
        if self.projection is None:
            alone: Tensor = value.norm(dim=-1)
            return alone
        by_head = self.projection.to(value).unflatten(1, (-1, value.shape[-1])).permute(1, 2, 0)  # (H, V, model dim)
        by_head = by_head if heads == tuple(range(len(by_head))) else by_head[list(heads)]
        few = max(1, PROJECTED // max(1, value.shape[0] * by_head.shape[0] * by_head.shape[2]))
        return torch.cat([(block @ by_head).norm(dim=-1) for block in value.split(few, 2)], -1)


def compared(one: Map, value: Tensor, output: Tensor, capture: AttentionCapture) -> Badge:
    """What the sampled rows say."""
    badge = Badge(
        capture.implementation, str(capture.query.dtype).removeprefix("torch."), one.terms.sees,
        sinks=one.terms.sinks is not None, dropout=capture.dropout > 0,
    )  # fmt: skip
    queries, columns = one.query.shape[-2], slice(0, one.key.shape[-2])
    if badge.dropout or not queries:
        return badge
    measures = []
    for row in sampled(queries):
        rows = slice(row, row + 1)
        options = one.terms.options(rows, columns, queries)
        lit = one.query[:, :, rows], one.key, one.lse[..., rows], options
        measures += measure(*lit, value, output[:, :, rows])
    worst = torch.tensor(measures, dtype=torch.float64).reshape(-1, 3).nan_to_num(nan=math.inf, posinf=math.inf)
    if not len(worst):
        return badge
    row_sum, difference, size = worst.amax(0).tolist()
    return replace(badge, rows=len(worst), row_sum=row_sum, difference=difference, size=size)


def sampled(rows: int) -> list[int]:
    """Some rows from first to last."""
    return sorted({round(i * (rows - 1) / (SAMPLED - 1)) for i in range(SAMPLED)}) if rows else []


def measure(
    query: Tensor, key: Tensor, lse: Tensor, options: ScoreOptions, value: Tensor, output: Tensor
) -> list[tuple[float, float, float]]:
    """Of one row, query (B, H, 1, D) and output (B, H, 1, V), unless it looks nowhere.

    How far its sum is from 1, how far weights times values are from the output, and how large that is.
    """
    weights = tile(query, key, lse, **options)[..., 0, :]  # (B, H, K)
    by_group = weights.unflatten(1, (key.shape[1], -1))
    mixed = (by_group @ value.to(weights.dtype)).flatten(1, 2)
    lit = ~lse[..., 0].isinf()
    if not bool(lit.any()):
        return []
    real = output[..., 0, :].to(weights.dtype)[lit]
    sums = weights.sum(-1)[lit]
    off = (sums - 1.0).clamp(min=0.0) if options.get("sinks") is not None else (sums - 1.0).abs()
    difference = (mixed[lit] - real).abs()
    return [(off.max().item(), difference.max().item(), real.abs().max().item())]
