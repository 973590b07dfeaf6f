"""The rows of single attention calls: what a map is joined from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import Tensor

from regard.lens.assembly.storage import Keep
from regard.lens.recording.fidelity import Badge, measure, sampled, together
from regard.lens.recording.map import Map
from regard.lens.recording.score_terms import compact, hidden

if TYPE_CHECKING:
    from regard.lens.assembly.recorder import Seen


@dataclass
class Part:
    """One call. Positions count from the start of the text, also where a cache has dropped its beginning."""

    map: Map  # its terms are over the keys first..stop; its keys only those that no earlier part has
    first: int
    stop: int
    fresh: int  # the position of the first key that is kept here
    turn: int = 0  # of the entry
    same_mask: bool = False  # the next part's mask begins with this one's, which is not kept
    same_bias: bool = False  # the next part's bias is this one's for one distance more

    @property
    def rows(self) -> int:
        return self.map.queries

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

    def up_to(self, stop: int) -> Part:
        """The same over the keys before `stop`, the last of which are the rows' own."""
        keys, kept, terms = stop - self.first, max(stop - self.fresh, 0), self.map.terms
        terms = replace(terms.trim(keys, self.rows), offset=keys - self.rows)
        norms = None if self.map.norms is None else self.map.norms[:, :, :kept]
        return replace(self, map=replace(self.map, key=self.map.key[:, :, :kept], terms=terms, norms=norms), stop=stop)


def part_of(seen: Seen, keep: Keep) -> Part:
    """What is needed of one call, still on its device and with all its keys."""
    total, served = seen.query.shape[1], seen.key.shape[1]
    heads = keep.heads_of(seen.site, total)
    query, key, value, output = (x.detach() for x in (seen.query, seen.key, seen.value, seen.output))
    terms = compact(seen.site, query, key, seen.options)
    if keep.heads is not None:
        theirs = [head // (total // served) for head in heads]
        query, output, key, value = query[:, heads], output[:, heads], key[:, theirs], value[:, theirs]
        terms = terms.pick(slice(None), list(heads))
    ahead = terms.offset + query.shape[2]
    if terms.bound[1] == 0 and 0 < ahead < key.shape[2]:  # a cache with room to spare: nobody looks at the rest
        key, value, terms = key[:, :, :ahead], value[:, :, :ahead], terms.trim(ahead, query.shape[2])
    if keep.dtype is not None:
        query, key = query.to(keep.dtype), key.to(keep.dtype)
    norms = value.float().norm(dim=-1) if keep.values else None
    bare = Map(query, key, query.new_zeros(query.shape[:-1]), terms, heads, norms)
    whole = replace(bare, lse=bare.log_sums())
    whole = replace(whole, badge=judged(whole, value, output, seen))
    return Part(whole, seen.first_key, seen.first_key + key.shape[2], seen.first_key)


def judged(whole: Map, value: Tensor, output: Tensor, seen: Seen) -> Badge:
    """What the sampled rows say."""
    told = Badge(
        seen.implementation, str(seen.query.dtype).removeprefix("torch."), whole.terms.sees,
        sinks=whole.terms.sinks is not None, dropout=seen.dropout > 0,
    )  # fmt: skip
    if told.dropout or not whole.queries:
        return told
    columns = slice(0, whole.keys)
    found = []
    for row in sampled(whole.queries):
        rows = slice(row, row + 1)
        options = whole.options(rows, columns)
        found.append(
            measure(whole.query[:, :, rows], whole.key, whole.lse[..., rows], options, value, output[:, :, rows])
        )
    all_of = together(found)
    return replace(told, rows=all_of.rows, row_sum=all_of.row_sum, difference=all_of.difference, size=all_of.size)


def taken(tensor: Tensor, rows: Tensor, absent: float = 0.0) -> Tensor:
    """These rows of the batch, in this order."""
    picked = tensor[rows.clamp(min=0).to(tensor.device)]
    if bool((rows < 0).any()):
        picked[(rows < 0).to(tensor.device)] = absent
    return picked


@dataclass(frozen=True)
class Joint:
    """What a map joined from parts measures."""

    texts: int
    rows: int
    keys: int
    base: int  # the position in the text of the first key
    offset: int
    grows: bool  # with a cache; else all parts look at the same keys, as at another text

    @classmethod
    def of(cls, parts: list[Part], path: Tensor, keys: int) -> Joint:
        base, rows = min(part.first for part in parts), sum(part.rows for part in parts)
        grows = len({(part.first, part.stop) for part in parts}) > 1
        return cls(len(path), rows, keys, base, parts[0].position - base if grows else keys - rows, grows)

    def place(self, part: Part) -> slice:
        """Where the keys of a part stand among all."""
        return slice(part.first - self.base, part.stop - self.base)
