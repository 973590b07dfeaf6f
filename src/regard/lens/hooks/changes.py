"""What can be changed in a head: each change acts on what attention is asked, or on what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import torch
from torch import Tensor

from regard.errors import InputError
from regard.lens.hooks.attention_inputs import AttentionInputs
from regard.lens.recording.score_terms import LARGEST

Means = Mapping[tuple[str, int], Tensor]  # (site, head) -> its mean output, (V)


@dataclass(frozen=True)
class Change:
    """A change of one head, or of all (None), at each site that a name or pattern means."""

    site: str
    head: int | None

    def concerns(self, site: str) -> bool:
        return fnmatchcase(site, self.site)

    def chosen(self, inputs: AttentionInputs) -> slice:
        """The heads meant, among those of the call."""
        if self.head is None:
            return slice(None)
        if not 0 <= self.head < inputs.heads:
            raise InputError(
                f"{inputs.site} has no head {self.head}", found=f"{inputs.heads} heads", do="they count from 0"
            )
        return slice(self.head, self.head + 1)

    def ask(self, inputs: AttentionInputs) -> AttentionInputs:
        """What attention is asked instead."""
        return inputs

    def answers(self, inputs: AttentionInputs) -> bool:
        """Does it also change what the model gets of this call?"""
        return False

    def answer(self, inputs: AttentionInputs, output: Tensor) -> Tensor:
        """What the model gets instead."""
        return output


@dataclass(frozen=True)
class Silence(Change):
    """The head says nothing: zeros."""

    def answers(self, inputs: AttentionInputs) -> bool:
        return True

    def answer(self, inputs: AttentionInputs, output: Tensor) -> Tensor:
        output = output.clone()
        output[..., self.chosen(inputs), :, :] = 0
        return output


@dataclass(frozen=True)
class Mean(Change):
    """The head says the same in every row: its mean over other texts, or over the rows of the text at hand."""

    of: Means | None = None

    def answers(self, inputs: AttentionInputs) -> bool:
        return True

    def answer(self, inputs: AttentionInputs, output: Tensor) -> Tensor:
        output, heads = output.clone(), range(inputs.heads)[self.chosen(inputs)]
        for head in heads:
            output[..., head, :, :] = self.mean(inputs, output[..., head, :, :], head)
        return output

    def mean(self, inputs: AttentionInputs, output: Tensor, head: int) -> Tensor:
        if self.of is not None:
            if (inputs.site, head) not in self.of:
                raise InputError(f"there is no mean of head {head} of {inputs.site}", do="take means at all sites")
            return self.of[inputs.site, head].to(output)
        if output.shape[-2] == 1:
            raise InputError(
                "one row is its own mean",
                found=f"{inputs.site} computes a single row, as each step of a generation does",
                do="give means=, as regard.lens.intervene.means gives them, taken over other texts",
            )
        return output.mean(-2, keepdim=True)


@dataclass(frozen=True)
class Forbid(Change):
    """A query may not look at a key; with the row or key None, at none of them."""

    row: int | None = None
    key: int | None = None

    def ask(self, inputs: AttentionInputs) -> AttentionInputs:
        rows, key = inputs.rows(self.row), None if self.key is None else self.key - inputs.first_key
        if rows is None or (key is not None and not 0 <= key < inputs.keys):
            return inputs
        shown = blank(self, inputs, self.row)
        across = slice(None) if key is None else slice(key, key + 1)
        shown[0, heads_in(self, shown, inputs), rows, across] = False
        return masked(inputs, shown)


@dataclass(frozen=True)
class Pin(Change):
    """A row looks at one key and at nothing else; with the row None, every row does."""

    row: int | None
    key: int

    def ask(self, inputs: AttentionInputs) -> AttentionInputs:
        rows, key = inputs.rows(self.row), self.key - inputs.first_key
        if rows is None:
            return inputs
        if key >= inputs.keys:
            known = inputs.keys + inputs.first_key
            raise InputError(f"{inputs.site} has no key {self.key} to look at", found=f"{known} keys")
        if inputs.options.get("causal") and self.row is not None and self.key > self.row:
            raise InputError("a causal row cannot be pinned to a later key", found=f"row {self.row}, key {self.key}")
        shown = blank(self, inputs, self.row)
        heads = heads_in(self, shown, inputs)
        shown[0, heads, rows] = False
        if key >= 0:  # else it lies before the window
            shown[0, heads, rows, key] = True
        return masked(inputs, shown)


@dataclass(frozen=True)
class Sharpen(Change):
    """The scores of a row times a factor: above 1 it looks more at what it looks at most, below 1 more evenly."""

    row: int | None
    factor: float

    def ask(self, inputs: AttentionInputs) -> AttentionInputs:
        rows = inputs.rows(self.row)
        if rows is None:
            return inputs
        times = inputs.query.new_ones(inputs.heads, inputs.query.shape[-2], 1)
        times[self.chosen(inputs), rows] = self.factor
        options, bias, mask = inputs.options.copy(), inputs.options.get("bias"), inputs.options.get("mask")
        if bias is not None:
            options["bias"] = scaled(bias, times)
        if mask is not None and mask.dtype != torch.bool:
            options["mask"] = scaled(mask, times)
        return replace(inputs, query=inputs.query * times, options=options)


def scaled(term: Tensor, times: Tensor) -> Tensor:
    """What is added to scores, times as much; what it hides stays hidden, and where it only hides it stays as it is."""
    hidden = term <= torch.finfo(term.dtype).min / 2
    added = term.masked_fill(hidden, 0)
    return torch.where(hidden, term, added * times.to(term.dtype)) if added.requires_grad or bool(added.any()) else term


def blank(change: Change, inputs: AttentionInputs, row: int | None) -> Tensor:
    """A mask that hides nothing, no larger than the change needs: (1, heads or 1, queries or 1, keys)."""
    heads, keys = 1 if change.head is None else inputs.heads, inputs.keys
    shape = (1, heads, 1 if row is None else inputs.query.shape[-2], keys)
    if heads * shape[2] * keys > LARGEST:
        raise InputError(
            "this change needs a mask that is too large",
            found=f"{inputs.site}: {heads} x {shape[2]:,} x {keys:,} cells; at most {LARGEST:,}",
            do="change all rows at once (row None), or use a shorter text",
        )
    return torch.ones(shape, dtype=torch.bool, device=inputs.query.device)


def heads_in(change: Change, mask: Tensor, inputs: AttentionInputs) -> slice:
    return slice(None) if mask.shape[1] == 1 else change.chosen(inputs)


def masked(inputs: AttentionInputs, shown: Tensor) -> AttentionInputs:
    """The call with this mask besides its own."""
    options, mask = inputs.options.copy(), inputs.options.get("mask")
    if mask is None:
        options["mask"] = shown
    elif mask.dtype == torch.bool:
        options["mask"] = mask & shown
    else:
        options["mask"] = torch.where(shown, mask, float("-inf"))
    return replace(inputs, options=options)
