"""A change that takes a part of a head from another run: its output, query, key, value or weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from regard.attention.scores import full_precision
from regard.attention.steps import by_group
from regard.errors import InputError, ShapeError
from regard.lens.hooks.activations import OF_KEYS, Activations, SiteActivations, per_query_head
from regard.lens.hooks.attention_inputs import AttentionInputs
from regard.lens.hooks.changes import Change

ANSWERS = ("output", "weights")  # parts that are put into what attention gives, not into what it is asked
BY_NAME = "name the positions: {here: there} takes position `there` of the source run to position `here` of this one"


@dataclass(frozen=True)
class Patch(Change):
    """One position of a part, or all (None) from runs of equal length; heads are query heads, keys' and values' too."""

    part: str
    position: int | None
    source_position: int | None
    source: Activations = field(repr=False)

    def ask(self, inputs: AttentionInputs) -> AttentionInputs:
        taken = None if self.part in ANSWERS else self.taken(inputs)
        if taken is None:
            return inputs
        shared = getattr(inputs, self.part).shape[-3] != inputs.heads
        if shared and (self.head is not None or taken.shape[-3] != inputs.key.shape[-3]):
            key, value = (per_query_head(tensor, inputs.heads) for tensor in (inputs.key, inputs.value))
            inputs = replace(inputs, key=key, value=value)
        own: Tensor = getattr(inputs, self.part)
        if taken.shape[-3] != own.shape[-3]:
            taken = per_query_head(taken, inputs.heads)
        changes: dict[str, Any] = {self.part: self.patched(inputs, own, taken)}
        return replace(inputs, **changes)

    def answers(self, inputs: AttentionInputs) -> bool:
        return self.part in ANSWERS and self.here(inputs) is not None

    def answer(self, inputs: AttentionInputs, output: Tensor) -> Tensor:
        taken = self.taken(inputs)
        return output if taken is None else self.patched(inputs, output, taken)

    def patched(self, inputs: AttentionInputs, own: Tensor, taken: Tensor) -> Tensor:
        """The same but for these heads and positions."""
        patched, heads = own.clone(), self.chosen(inputs)
        patched[..., heads, self.here(inputs), :] = taken[..., heads, :, :].to(own)
        return patched

    def here(self, inputs: AttentionInputs) -> slice | None:
        """The rows or keys of this call that are meant; None if they are not among these."""
        if self.part not in OF_KEYS or self.position is None:
            return inputs.rows(self.position)
        key = self.position - inputs.first_key
        return slice(key, key + 1) if 0 <= key < inputs.keys else None

    def taken(self, inputs: AttentionInputs) -> Tensor | None:
        """What comes to them from the source run, of all heads: (B or 1, heads, n, dim)."""
        if self.here(inputs) is None:
            return None
        theirs = self.source.site(inputs.site)
        self.check_shapes(inputs, theirs)
        there = self.there(inputs, theirs)
        if self.part == "weights":
            return mixed(inputs, theirs, self.source_position, there)
        taken: Tensor = getattr(theirs, self.part)[..., there, :]
        return taken

    def there(self, inputs: AttentionInputs, theirs: SiteActivations) -> list[int]:
        """Their positions in the source run."""
        what, size = ("key", theirs.keys) if self.part in OF_KEYS else ("row", theirs.rows)
        if self.source_position is not None:
            if self.source_position >= size:
                raise InputError(
                    f"the source run has no {what} {self.source_position} at {inputs.site}",
                    found=f"{size} {what}s, counted from 0", do=BY_NAME,
                )  # fmt: skip
            return [self.source_position]
        if self.part in OF_KEYS:
            first, count = inputs.first_key, inputs.keys
            growing = inputs.queries == 1 and inputs.first is not None and inputs.first + 1 == first + count
        else:
            first, count = inputs.start("all rows"), inputs.queries
            growing = first > 0 or count == 1  # a text that is generated has its other rows later
        if first + count > size or (count != size and not growing):
            raise ShapeError(
                f"{inputs.site} does not have as many {what}s in both runs",
                found=f"{what}s {first} to {first + count - 1} here, {size} in the source run", do=BY_NAME,
            )  # fmt: skip
        return list(range(first, first + count))

    def check_shapes(self, inputs: AttentionInputs, theirs: SiteActivations) -> None:
        """As many heads of the same dim, and a batch of as many texts, or of one for all."""
        heads, dim = theirs.query.shape[-3], (inputs.query if self.part in ("query", "key") else inputs.value).shape[-1]
        taken = dim if self.part == "weights" else getattr(theirs, self.part).shape[-1]
        if (heads, taken) != (inputs.heads, dim):
            raise ShapeError(
                f"the {self.part} of {inputs.site} is not of one shape in both runs",
                found=f"{inputs.heads} heads of dim {dim} here, {heads} of {taken} in the source run",
                do="take it from a run of the same model, or of one with the same sizes",
            )
        texts, batch = len(theirs.query), len(inputs.query)
        if texts not in (1, batch):
            raise ShapeError(
                f"the source run does not have as many texts as {inputs.site} has here",
                found=f"a batch of {batch} here, of {texts} in the source run",
                do="run one text for all, or as many, and generate without beams",
            )


def mixed(inputs: AttentionInputs, theirs: SiteActivations, row: int | None, there: list[int]) -> Tensor:
    """The output of rows with the source run's weights over the values of this one, (B, H, rows, V)."""
    weights = theirs.weights(row)
    weights = weights[..., there, :] if row is None else weights
    first, stop = inputs.first_key, inputs.first_key + inputs.keys
    unseen = weights[..., :first], weights[..., stop:]  # where a text is generated: later keys
    if stop > theirs.keys or any(bool(part.any()) for part in unseen):
        raise ShapeError(
            f"weights of {inputs.site} need the same keys in both runs",
            found=f"{inputs.keys} keys here, {theirs.keys} in the source run",
            do="take weights from a text of the same length, or patch query and key instead",
        )
    value = inputs.value.to(torch.promote_types(inputs.value.dtype, weights.dtype))
    weights = weights[..., first:stop].to(value)
    with full_precision(value.device):
        return by_group(weights.expand(len(value), *weights.shape[1:]), value)
