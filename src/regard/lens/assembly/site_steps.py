"""The parts of one site in the order they came, each joined to those before it or refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from regard.errors import InputError
from regard.lens.assembly.step import Part
from regard.lens.assembly.storage import Keep
from regard.lens.recording.score_terms import Terms

CLOSE = 1e-2  # computed again, a query may round otherwise
TERMS = 1 << 10  # of the sums that keys are: so many epsilons may two orders of one sum lie apart


@dataclass
class Track:
    """What one site did within one entry."""

    site: str
    parts: list[Part] = field(default_factory=list)

    def add(self, part: Part, keep: Keep) -> None:
        """Join it to those before; one that reads the whole text again takes their place."""
        part = self.without_spare_keys(part)
        fresh = self.known_up_to(part) if self.parts else part.first
        if fresh is None:
            self.check_told_again(part)
            self.parts.clear()
            fresh = part.first
        if self.parts:
            forget(self.parts[-1], part)
        mine, new = part.map, slice(fresh - part.first, None)
        kept = replace(
            mine,
            query=keep.store(mine.query), key=keep.store(mine.key[:, :, new]), lse=keep.store(mine.lse),
            terms=mine.terms.stored(keep.store),
            norms=None if mine.norms is None else keep.store(mine.norms[:, :, new]),
        )  # fmt: skip
        self.parts.append(Part(kept, part.first, part.stop, fresh, part.turn))

    def continued(self, part: Part) -> bool:
        """Does it go on from the last?"""
        return self.known_up_to(self.without_spare_keys(part)) is not None

    def known_up_to(self, part: Part) -> int | None:
        """Up to which position the keys are here already; None: this part does not go on from the last."""
        last = self.parts[-1]
        if part.map.heads != last.map.heads:
            return None
        if part.position == last.stop and part.stop == last.stop + part.rows:
            return last.stop if still_there(last, part) else None  # a cache has grown by the newest tokens
        if (part.first, part.stop) != (last.first, last.stop) or part.map.terms.causal:
            return None
        if self.told_before(part):
            return None
        whole = next(one for one in reversed(self.parts) if one.fresh == one.first)
        known, given = whole.map.key, part.map.key.to(whole.map.key.device)
        if known.shape == given.shape:
            return part.stop if alike(known, given) else None
        times = len(given) // len(known)
        spread = times > 0 and alike(known.repeat_interleave(times, 0), given)
        return part.first if spread else None  # beams: each text several times over

    def without_spare_keys(self, part: Part) -> Part:
        """Where a mask hides keys that a cache of fixed size has not written yet, the part without them."""
        if not self.parts or part.map.terms.causal or part.first != self.parts[-1].first:
            return part
        last = self.parts[-1]
        begin = last.stop if last.stop < part.stop else first_written(last, part)
        end = begin + part.rows
        if last.written > begin or not part.written <= end <= part.stop or (begin, end) == (last.stop, part.stop):
            return part
        if begin < last.stop:
            self.parts[-1] = last.up_to(begin)
        return part.up_to(end)

    def told_before(self, part: Part) -> bool:
        """Does it begin with the rows that are here? Without a cache the same keys are looked at by all words again."""
        if part.rows <= sum(one.rows for one in self.parts):
            return False
        old, new = self.parts[0].map.query[:, :, 0], part.map.query[:, :, 0]
        new = new.to(old.device)
        return all(any(torch.allclose(row, other, rtol=CLOSE, atol=CLOSE) for other in old) for row in new)

    def check_told_again(self, part: Part) -> None:
        """Without a cache every turn reads all again, and more; else rows would be lost."""
        rows = sum(one.rows for one in self.parts)
        if part.rows <= rows:
            last = self.parts[-1]
            raise InputError(
                f"the steps of {self.site} do not go on from each other, and make no one map",
                found=f"{part.rows} rows over {part.stop - part.first} keys after {last.stop - last.first} keys, "
                f"which are not the same any more; {rows} rows before",
                do="watch single forwards, or generate with another cache",
            )


def first_written(last: Part, part: Part) -> int:
    """The position of the first key that a cache of fixed size has got since the last part; its end if there is none.

    It is the first that has changed. Where beams have changed rows, the mask must tell: it hides what is not there yet.
    """
    known, given = last.map.key, part.map.key
    if known.shape == given.shape and len(changed := unlike(known, given.to(known.device))) == part.rows:
        return last.first + int(changed[0])
    return last.written if part.written == last.written + part.rows else last.stop


def unlike(one: Tensor, other: Tensor) -> Tensor:
    """The places along the keys where two caches differ."""
    return (~same(one, other)).transpose(2, 3).flatten(0, 2).any(0).nonzero()[:, 0]


def still_there(last: Part, part: Part) -> bool:
    """Does the newest key of the last part stand where it should, perhaps in another row of the batch?"""
    place = last.stop - 1 - part.first
    if place < 0 or not last.map.key.shape[2]:
        return True
    old = last.map.key[:, :, -1]
    new = part.map.key[:, :, place].to(old.device)
    if old.shape == new.shape and alike(old, new):
        return True
    return all(any(alike(row, other) for other in old) for row in new)


def alike(one: Tensor, other: Tensor) -> bool:
    """Are they one everywhere, but for rounding?"""
    return torch.equal(one, other) or bool(same(one, other).all())


def same(one: Tensor, other: Tensor) -> Tensor:
    """Cell by cell: no number in both, or nearly one: keys may have been computed again, or for another beam.

    A product of another shape adds its terms in another order, on some processors, and rounds otherwise.
    """
    wide = torch.promote_types(one.dtype, torch.float32)
    rounding = 4 * torch.finfo(one.dtype).eps + TERMS * torch.finfo(wide).eps
    size = one.nan_to_num(0.0, 0.0, 0.0).abs().max() if one.numel() else 0.0
    return (one == other) | ((one - other).abs() <= rounding * size) | (one.isnan() & other.isnan())


def forget(last: Part, part: Part) -> None:
    """Let go of masks and biases that the new part tells again, so that N steps do not keep N x N numbers."""
    old, new = last.map.terms, part.map.terms
    keys = last.stop - last.first
    if old.mask is not None and new.mask is not None and last.first == part.first and key_only(old, keys):
        begins = new.mask[..., :keys].to(old.mask.device)
        last.same_mask = key_only(new, part.stop - part.first) and torch.equal(old.mask, begins)
    if old.bias is not None and new.bias is not None and part.stop > last.stop and new.bias.shape[2] == 1:
        moved = new.bias[..., part.rows : part.rows + keys].to(old.bias.device)
        last.same_bias = part.rows == 1 and last.rows == 1 and torch.equal(old.bias, moved)
    terms = replace(old, mask=None if last.same_mask else old.mask, bias=None if last.same_bias else old.bias)
    last.map = replace(last.map, terms=terms)


def key_only(terms: Terms, keys: int) -> bool:
    """Is the mask one row of keys, the same for all queries?"""
    return terms.mask is not None and terms.mask.shape[2] == 1 and terms.mask.shape[3] == keys
