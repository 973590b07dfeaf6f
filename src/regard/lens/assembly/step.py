"""What is kept of one attention: its row of steps is what a map is concatenated from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.inputs import ScoreOptions
from regard.attention.logsumexp import logsumexp, worthwhile
from regard.lens.assembly.sampled_rows import RowNumbers, SampledRows
from regard.lens.assembly.watch_options import WatchOptions
from regard.lens.recording.fidelity import Badge
from regard.lens.recording.map import Map
from regard.lens.recording.score_terms import Terms, hidden, terms_of

PROJECTED = 1 << 24  # numbers that exist at a time while values go through W_O
MANY = 4  # times the dim of a value: for so many keys W W^T is made


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
    values: StepValues | None = None  # until it is known which keys are new

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


@dataclass(frozen=True)
class StepValues:
    """What is not kept of an attention, and needed to check it and to weigh its values."""

    key: Tensor  # (B, J, K, D), all of them
    value: Tensor  # (B, J, K, V)
    projection: Tensor | None  # W_O (model dim, all heads x V)
    rows: SampledRows | None  # to be compared; None where dropout makes that impossible


def step_of(capture: AttentionCapture, options: WatchOptions, numbers: RowNumbers) -> AttentionStep:
    """What is needed of one attention, still on its device and with all its keys."""
    total, served = capture.query.shape[1], capture.key.shape[1]
    heads = options.heads_of(capture.site, total)
    query, key, value, output, lse = capture.query, capture.key, capture.value, capture.output, capture.lse
    terms = terms_of(capture.site, query, key, capture.options, compact=capture.compact)
    if options.heads is not None:
        theirs = tuple(head // (total // served) for head in heads)
        query, output = (picked_heads(part, heads, 1) for part in (query, output))
        key, value = (picked_heads(part, theirs, 1) for part in (key, value))
        terms, lse = terms.pick(slice(None), list(heads)), None if lse is None else picked_heads(lse, heads, 1)
    ahead = terms.offset + query.shape[2]
    if terms.bound[1] == 0 and 0 < ahead < key.shape[2]:  # a cache with room to spare: nobody looks at the rest
        key, value, terms = key[:, :, :ahead], value[:, :, :ahead], terms.trim(ahead, query.shape[2])
    if options.dtype is not None and options.dtype != query.dtype:
        query, key, lse = query.to(options.dtype), key.to(options.dtype), None
    if lse is None or not worthwhile(query, key):
        lse = lse_of(query, key, terms)
    badge = Badge(
        capture.implementation, str(capture.query.dtype).removeprefix("torch."), terms.sees,
        sinks=terms.sinks is not None, dropout=capture.dropout > 0,
    )  # fmt: skip
    one = Map(query, key, lse, terms, heads, projected=options.values and capture.projection is not None, badge=badge)
    step = AttentionStep(one, capture.first_key, capture.first_key + key.shape[2], capture.first_key)
    rows = None
    if not badge.dropout and query.numel() and key.numel():
        rows = SampledRows.of(numbers[query.shape[2], query.device], query, lse, output, terms)
    step.values = StepValues(key, value, capture.projection, rows)
    return step


def lse_of(query: Tensor, key: Tensor, terms: Terms) -> Tensor:
    """(B, H, Q), from queries and keys alone; some rows at a time where a bias has to be laid out for them."""
    queries, columns = query.shape[-2], slice(0, key.shape[-2])
    return torch.cat([
        logsumexp(query[..., rows, :], key, **terms.options(rows, columns, queries))
        for rows in terms.blocks(slice(0, queries), key.shape[-2])
    ], -1)  # fmt: skip


def value_norms(value: Tensor, projection: Tensor | None, heads: tuple[int, ...]) -> Tensor:
    """(B, H, K) of values (B, J, K, V) through W_O (model dim, all heads x V), or as they are where it is unknown."""
    wide = torch.promote_types(value.dtype, torch.float32)
    if projection is None:
        alone: Tensor = value.to(wide).norm(dim=-1)
        return alone.repeat_interleave(len(heads) // value.shape[1], 1)
    if value.shape[2] > MANY * value.shape[3] and value.device.type != "mps":  # which has no float64
        return by_squares(value[None], projection[None], heads)[0]
    by_head = picked_heads(projection.to(wide).unflatten(1, (-1, value.shape[-1])), heads, 1).permute(1, 2, 0)
    value = value.to(wide).repeat_interleave(len(heads) // value.shape[1], 1)
    few = max(1, PROJECTED // max(1, value.shape[0] * by_head.shape[0] * by_head.shape[2]))
    return torch.cat([(block @ by_head).norm(dim=-1) for block in value.split(few, 2)], -1)


def by_squares(value: Tensor, projection: Tensor, heads: tuple[int, ...]) -> Tensor:
    """(attentions, B, H, K) of values (attentions, B, J, K, V) and matrices (attentions, model dim, heads x V).

    |v W| is the root of v (W W^T) v: with W W^T, as small as a head, made once, a long text needs no product with W. In
    float64, since squares lose half of the digits.
    """
    served, width = value.shape[2], value.shape[4]
    by_head = picked_heads(projection.double().unflatten(2, (-1, width)), heads, 2).permute(0, 2, 3, 1)  # (L, H, V, D)
    squares = (by_head @ by_head.mT).unflatten(1, (served, -1))  # (L, J, G, V, V)
    squares = squares.transpose(2, 3).flatten(3)[:, None]  # one product for all heads that a key head serves
    few = max(1, PROJECTED // max(1, value.shape[:2].numel() * len(heads) * width))
    blocks = []
    for block in value.split(few, 3):
        block = block.double()
        through = (block @ squares).unflatten(-1, (-1, width)).mul_(block[..., None, :])  # (L, B, J, k, G, V)
        blocks.append(through.sum(-1).clamp_(min=0.0).sqrt_())
    norms = blocks[0] if len(blocks) == 1 else torch.cat(blocks, 3)
    return norms.transpose(3, 4).flatten(2, 3).to(torch.promote_types(value.dtype, torch.float32))


def picked_heads(tensor: Tensor, heads: tuple[int, ...], dim: int) -> Tensor:
    """Some heads by their numbers, without an index that would have to be sent to the device."""
    if heads == tuple(range(tensor.shape[dim])):
        return tensor
    if heads == tuple(range(heads[0], heads[0] + len(heads))):
        return tensor.narrow(dim, heads[0], len(heads))
    return torch.stack([tensor.select(dim, head) for head in heads], dim)
