"""The badge's check: some rows made again from queries, keys and lse, and compared with the output the model used.

All rows at once, of several attentions if they are alike, and nothing is read back: the device is never waited for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.attention.scores import LOW, NOWHERE, both, full_precision, narrow
from regard.lens.recording.score_terms import Terms

SAMPLED = 8  # rows of each attention that are compared
CELLS = 1 << 25  # weights that exist at a time


def sampled(rows: int) -> list[int]:
    """Some rows from first to last."""
    if rows <= SAMPLED:
        return list(range(rows))
    return [(2 * i * (rows - 1) + SAMPLED - 1) // (2 * (SAMPLED - 1)) for i in range(SAMPLED)]


def row_numbers(rows: int, device: torch.device) -> Tensor:
    """The same, calculated where the attention is: nothing has to be sent there."""
    few = torch.arange(min(rows, SAMPLED), device=device)
    return few if rows <= SAMPLED else (few * (2 * (rows - 1)) + (SAMPLED - 1)) // (2 * (SAMPLED - 1))


class RowNumbers(dict[tuple[int, torch.device], Tensor]):
    """Of each length and device, calculated once."""

    def __missing__(self, key: tuple[int, torch.device]) -> Tensor:
        self[key] = row_numbers(*key)
        return self[key]


@dataclass(frozen=True)
class SampledRows:
    """The sampled rows of one attention, or of several alike whose batches were put together."""

    terms: Terms  # over all rows
    queries: int  # all there are
    numbers: Tensor  # (S): which of them these are
    query: Tensor  # (B, H, S, D)
    lse: Tensor  # (B, H, S)
    output: Tensor  # (B, H, S, V)

    @classmethod
    def of(cls, numbers: Tensor, query: Tensor, lse: Tensor, output: Tensor, terms: Terms) -> SampledRows:
        """Copies: what the model has may change before they are compared."""
        picked = (part.index_select(2, numbers) for part in (query, lse, output))
        return cls(terms, query.shape[2], numbers, *picked)

    @property
    def plain(self) -> bool:
        """Do scores depend on nothing but position and padding? Then several attentions can be compared at once."""
        terms = self.terms
        return terms.bias is None and terms.diagonals is None and terms.sinks is None and (
            terms.mask is None or (terms.mask.dtype == torch.bool and terms.mask.shape[2] == 1))  # fmt: skip

    def measured(self, key: Tensor, value: Tensor, attentions: int = 1) -> Tensor:
        """(attentions, 4): how far sums are from 1, weights times values from the output, how large that is, and rows.

        Of rows that look somewhere; `attentions` are as many as were put together along the batch.
        """
        wide = torch.promote_types(self.query.dtype, torch.float32)
        key, value = key.to(wide), value.to(wide)
        few = max(1, CELLS // max(1, self.query.shape[:2].numel() * key.shape[2]))
        with full_precision(key.device):
            blocks = [
                self.block(slice(start, start + few), key, value, attentions)
                for start in range(0, self.query.shape[2], few)
            ]
        if len(blocks) == 1:
            return blocks[0]
        together = torch.stack(blocks)
        return torch.cat([together[..., :3].amax(0), together[..., 3:].sum(0)], -1)

    def block(self, rows: slice, key: Tensor, value: Tensor, attentions: int) -> Tensor:
        scores, added = self.scores(rows, key, attentions)
        lse, real = self.lse[:, :, rows].to(scores.dtype), self.output[:, :, rows].to(scores.dtype)
        lit = None if self.always_lit else ~lse.isinf()
        top = lse if lit is None else torch.where(lit, lse, 0.0)
        weights = scores.sub(top[..., None]).exp_()
        if added:  # so far down an lse rounds away how many keys share a row: reading such a row does without it too
            deep = (lse < LOW) & (lse != NOWHERE)
            weights = torch.where(deep[..., None], scores.softmax(-1), weights)
        mixed = (weights.unflatten(1, (key.shape[1], -1)).flatten(2, 3) @ value).view(real.shape)
        off, apart = weights.sum(-1).sub_(1.0), mixed.sub_(real)
        off = off if self.terms.sinks is None else off.clamp_(min=0.0)
        count = torch.full((attentions,), off.shape[2], dtype=off.dtype, device=off.device) if lit is None else (
            lit.unflatten(0, (attentions, -1)).flatten(1, 2).any(1).sum(-1))  # fmt: skip
        if lit is not None:
            off = torch.where(lit, off, 0.0)
            apart, real = (torch.where(lit[..., None], part, 0.0) for part in (apart, real))
        return torch.stack([*(largest(part, attentions) for part in (off, apart, real)), count.to(off.dtype)], -1)

    def scores(self, rows: slice, key: Tensor, attentions: int) -> tuple[Tensor, bool]:
        """(B, H, rows, K), -inf where hidden, and whether anything is added to them."""
        terms, heads, served = self.terms, self.query.shape[1], key.shape[1]
        query = self.query[:, :, rows].to(key.dtype) * terms.scale
        scores = query.unflatten(1, (served, heads // served)).flatten(2, 3) @ key.mT
        scores = scores.view(*query.shape[:3], key.shape[2])
        scores = scores if terms.softcap is None else (scores / terms.softcap).tanh_().mul_(terms.softcap)
        shown = self.band(rows, key.shape[2])
        added = [narrow(term, key.dtype) for term in self.added(rows, key.shape[2])]
        for term in added:
            shown = both(shown, term != NOWHERE)
            scores = scores + term
        if terms.mask is not None and terms.mask.dtype == torch.bool:
            shown = both(shown, self.own_rows(terms.mask, rows))
        if shown is not None:
            by_attention = scores.view(attentions, -1, *scores.shape[1:])
            by_attention.masked_fill_(~shown, NOWHERE)
        return scores, bool(added)

    def band(self, rows: slice, keys: int) -> Tensor | None:
        """Which keys these rows may look at by their position, (rows, keys); None: all."""
        left, right = self.terms.bound
        if left is None and right is None:
            return None
        away = torch.arange(keys, device=self.numbers.device) - (self.numbers[rows] + self.terms.offset)[:, None]
        shown = None if left is None else away >= -left
        return both(shown, None if right is None else away <= right)

    def added(self, rows: slice, keys: int) -> list[Tensor]:
        """Biases and masks of numbers, for these rows."""
        terms = self.terms
        numbers = [term for term in (terms.mask, terms.bias) if term is not None and term.dtype != torch.bool]
        numbers = [self.own_rows(term, rows) for term in numbers]
        if terms.diagonals is not None:
            first = [self.queries - 1 - row for row in sampled(self.queries)[rows]]
            numbers.append(torch.stack([terms.diagonals[:, start : start + keys] for start in first], 1)[None])
        return numbers

    def own_rows(self, term: Tensor, rows: slice) -> Tensor:
        """Of a term over all rows, these."""
        return term if term.shape[2] == 1 else term.index_select(2, self.numbers[rows])

    @property
    def always_lit(self) -> bool:
        """Is it certain, without looking, that every row looks somewhere?"""
        left, _ = self.terms.bound
        return self.plain and self.terms.mask is None and left is None and self.terms.offset >= 0

    def beside(self, others: list[SampledRows]) -> SampledRows:
        """This and others, their batches put together."""
        every = [self, *others]
        query, lse, output = (torch.cat([getattr(one, name) for one in every]) for name in ("query", "lse", "output"))
        return replace(self, query=query, lse=lse, output=output)


def largest(part: Tensor, attentions: int) -> Tensor:
    """(attentions): the largest size of any number; NaN if there is one."""
    sizes: Tensor = torch.linalg.vector_norm(part.reshape(attentions, -1), torch.inf, dim=-1)
    return sizes
