"""The steps of one site in the order they came, each put after those before it or refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from regard.errors import InputError
from regard.lens.assembly.pending import Pending, PendingStep
from regard.lens.assembly.step import AttentionStep
from regard.lens.recording.score_terms import Terms

CLOSE = 1e-2  # computed again, a query may round otherwise
TERMS = 1 << 10  # of the sums that keys are: so many epsilons may two orders of one sum lie apart


@dataclass
class SiteSteps:
    """What one site did within one call."""

    site: str
    steps: list[AttentionStep] = field(default_factory=list)

    def add(self, step: AttentionStep, pending: Pending) -> None:
        """Join it to those before; one that reads the whole text again takes their place."""
        step = self.without_spare_keys(step)
        fresh = self.known_up_to(step) if self.steps else step.first
        if fresh is None:
            self.check_read_again(step)
            self.steps.clear()
            fresh = step.first
        if self.steps:
            forget(self.steps[-1], step)
        store = pending.storage.store
        mine, new = step.map, slice(fresh - step.first, step.map.key.shape[2])
        stored = replace(
            mine,
            query=store(mine.query), key=store(mine.key[:, :, new]),
            lse=store(mine.lse, ours=True),
            terms=mine.terms.stored(store),
        )  # fmt: skip
        self.steps.append(AttentionStep(stored, step.first, step.stop, fresh, step.turn))
        if step.values is not None:
            pending.add(PendingStep(self.steps[-1], step.values, new))

    def continued(self, step: AttentionStep) -> bool:
        """Does it go on from the last?"""
        return self.known_up_to(self.without_spare_keys(step)) is not None

    def known_up_to(self, step: AttentionStep) -> int | None:
        """Up to which position the keys are here already; None: this step does not go on from the last."""
        last = self.steps[-1]
        if step.map.heads != last.map.heads:
            return None
        if step.position == last.stop and step.stop == last.stop + step.rows:
            return last.stop if still_there(last, step) else None  # a cache has grown by the newest tokens
        if (step.first, step.stop) != (last.first, last.stop) or step.map.terms.causal:
            return None
        if self.read_again(step):
            return None
        whole = next(one for one in reversed(self.steps) if one.fresh == one.first)
        known, given = whole.map.key, step.map.key.to(whole.map.key.device)
        if known.shape == given.shape:
            return step.stop if alike(known, given) else None
        times = len(given) // len(known)
        spread = times > 0 and alike(known.repeat_interleave(times, 0), given)
        return step.first if spread else None  # beams: each text several times over

    def without_spare_keys(self, step: AttentionStep) -> AttentionStep:
        """Where a mask hides keys that a cache of fixed size has not written yet, the step without them."""
        if not self.steps or step.map.terms.causal or step.first != self.steps[-1].first:
            return step
        last = self.steps[-1]
        begin = last.stop if last.stop < step.stop else first_written(last, step)
        end = begin + step.rows
        if last.written > begin or not step.written <= end <= step.stop or (begin, end) == (last.stop, step.stop):
            return step
        if begin < last.stop:  # the same step, which a check that is still to be read will be written into
            shorter = last.up_to(begin)
            last.map, last.stop = shorter.map, shorter.stop
        return step.up_to(end)

    def read_again(self, step: AttentionStep) -> bool:
        """Does it begin with the rows that are here? Without a cache the same keys are looked at by all words again."""
        if step.rows <= sum(one.rows for one in self.steps):
            return False
        old, new = self.steps[0].map.query[:, :, 0], step.map.query[:, :, 0]
        new = new.to(old.device)
        return all(any(torch.allclose(row, other, rtol=CLOSE, atol=CLOSE) for other in old) for row in new)

    def check_read_again(self, step: AttentionStep) -> None:
        """Without a cache every turn reads all again, and more; else rows would be lost."""
        rows = sum(one.rows for one in self.steps)
        if step.rows <= rows:
            last = self.steps[-1]
            raise InputError(
                f"the steps of {self.site} do not go on from each other, and make no one map",
                found=f"{step.rows} rows over {step.stop - step.first} keys after {last.stop - last.first} keys, "
                f"which are not the same any more; {rows} rows before",
                do="watch single forwards, or generate with another cache",
            )


def first_written(last: AttentionStep, step: AttentionStep) -> int:
    """The position of the first key that a cache of fixed size has got since the last step; its end if there is none.

    It is the first that has changed. Where beams have changed rows, the mask must tell: it hides what is not there yet.
    """
    known, given = last.map.key, step.map.key
    if known.shape == given.shape and len(changed := unlike(known, given.to(known.device))) == step.rows:
        return last.first + int(changed[0])
    return last.written if step.written == last.written + step.rows else last.stop


def unlike(one: Tensor, other: Tensor) -> Tensor:
    """The places along the keys where two caches differ."""
    return (~same(one, other)).transpose(2, 3).flatten(0, 2).any(0).nonzero()[:, 0]


def still_there(last: AttentionStep, step: AttentionStep) -> bool:
    """Does the newest key of the last step stand where it should, perhaps in another row of the batch?"""
    place = last.stop - 1 - step.first
    if place < 0 or not last.map.key.shape[2]:
        return True
    old = last.map.key[:, :, -1]
    new = step.map.key[:, :, place].to(old.device)
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


def forget(last: AttentionStep, step: AttentionStep) -> None:
    """Let go of masks and biases that the new step tells again, so that N steps do not keep N x N numbers."""
    old, new = last.map.terms, step.map.terms
    keys = last.stop - last.first
    if old.mask is not None and new.mask is not None and last.first == step.first and key_only(old, keys):
        begins = new.mask[..., :keys].to(old.mask.device)
        last.same_mask = key_only(new, step.stop - step.first) and torch.equal(old.mask, begins)
    if old.bias is not None and new.bias is not None and step.stop > last.stop and new.bias.shape[2] == 1:
        moved = new.bias[..., step.rows : step.rows + keys].to(old.bias.device)
        last.same_bias = step.rows == 1 and last.rows == 1 and torch.equal(old.bias, moved)
    terms = replace(old, mask=None if last.same_mask else old.mask, bias=None if last.same_bias else old.bias)
    last.map = replace(last.map, terms=terms)


def key_only(terms: Terms, keys: int) -> bool:
    """Is the mask one row of keys, the same for all queries?"""
    return terms.mask is not None and terms.mask.shape[2] == 1 and terms.mask.shape[3] == keys
