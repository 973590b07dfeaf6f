"""What an attention's values are needed for: the badge's check and the norms. Done for many layers at once.

On a GPU a layer is so quick that what counts is how many operations are asked for. So the values, which the model has
anyway, are held for some layers, and those that are alike are worked on together; when the forward ends, all are done.
On a CPU there is nothing to gain, and each is worked on as it comes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from regard.attention.scores import full_precision
from regard.attention.torch_names import unwatched
from regard.lens.assembly.sampled_rows import RowNumbers
from regard.lens.assembly.step import MANY, AttentionStep, StepValues, by_squares, value_norms
from regard.lens.assembly.watch_options import Storage

HELD = 1 << 27  # numbers of keys and values that are held, or worked on together
MATRICES = 1 << 25  # numbers of the W_O that are worked on together, in float64: all of a large model are many GB


@dataclass
class PendingStep:
    """A step whose values are still to be worked on; `new` are the keys that no earlier step has."""

    step: AttentionStep
    values: StepValues
    new: slice

    @property
    def numbers(self) -> int:
        return self.values.key.numel() + self.values.value.numel()

    @property
    def likeness(self) -> tuple[Any, ...]:
        """Equal for those whose rows can be compared together."""
        rows, key, value = self.values.rows, self.values.key, self.values.value
        if rows is None or not rows.plain:
            return (id(self),)
        terms = rows.terms
        rules = terms.scale, terms.softcap, terms.offset, terms.bound, id(terms.mask)
        return *rules, rows.queries, *shapes(rows.query, key, value), key.dtype, key.device

    @property
    def weight_likeness(self) -> tuple[Any, ...]:
        """Equal for those whose norms can be made together."""
        value, matrix = self.values.value, self.values.projection
        many = value.shape[2] > MANY * value.shape[3]
        if matrix is None or not many or self.new.start or value.device.type in ("cpu", "mps"):
            return (id(self),)
        return *shapes(value, matrix), value.dtype, matrix.dtype, value.device, self.step.map.heads


@dataclass
class Pending:
    """The steps of a forward that are still to be worked on, and what the checks of all have measured."""

    storage: Storage
    numbers: RowNumbers = field(default_factory=RowNumbers)
    steps: list[PendingStep] = field(default_factory=list)
    measures: list[tuple[list[AttentionStep], Tensor]] = field(default_factory=list)  # (steps, 4) each, not read yet

    def add(self, step: PendingStep) -> None:
        """On a CPU at once; elsewhere together with what comes, until it is much or the forward ends."""
        self.steps.append(step)
        if step.values.value.device.type == "cpu" or sum(one.numbers for one in self.steps) > HELD:
            self.work()

    def work(self) -> None:
        """All that is pending."""
        steps, self.steps = self.steps, []
        if not steps:
            return
        with unwatched(), torch.no_grad(), full_precision(steps[0].values.value.device):
            for group in alike([one for one in steps if one.values.rows is not None], "likeness"):
                self.compare(group)
            for group in alike(steps, "weight_likeness") if self.storage.options.values else ():
                for few in within_matrices(group):
                    self.weigh(few)

    def compare(self, group: list[PendingStep]) -> None:
        """The check of the badge, for several attentions that are alike."""
        first, *others = [one.values.rows for one in group if one.values.rows is not None]
        rows = first.beside(others) if others else first
        key, value = (joined([getattr(one.values, name) for one in group]) for name in ("key", "value"))
        self.measures.append(([one.step for one in group], rows.measured(key, value, len(group))))

    def weigh(self, group: list[PendingStep]) -> None:
        """The norms of their values."""
        heads, values = group[0].step.map.heads, [one.values.value[:, :, one.new] for one in group]
        matrices = [one.values.projection for one in group]
        if len(group) == 1:
            norms = value_norms(values[0], matrices[0], heads)[None]
        else:
            norms = by_squares(torch.stack(values), torch.stack([one for one in matrices if one is not None]), heads)
        for one, mine in zip(group, norms, strict=True):
            one.step.map = replace(one.step.map, norms=self.storage.store(mine, ours=True))

    def ready(self) -> None:
        """Until the tensors that were kept can be looked at."""
        self.work()
        self.storage.transfers.wait()

    def settle(self) -> None:
        """Read what the checks have measured into the badges: the only moment at which a device is waited for."""
        self.ready()
        measures, self.measures = self.measures, []
        for kind in {(numbers.device, numbers.dtype) for _, numbers in measures}:
            mine = [(steps, numbers) for steps, numbers in measures if (numbers.device, numbers.dtype) == kind]
            read = torch.cat([numbers for _, numbers in mine]).nan_to_num(math.inf, math.inf).tolist()
            for step, numbers in zip((step for steps, _ in mine for step in steps), read, strict=True):
                write_badge(step, *numbers)


def write_badge(step: AttentionStep, row_sum: float, difference: float, size: float, rows: float) -> None:
    """What was measured, unless no row looked anywhere."""
    if rows:
        badge = replace(step.map.badge, rows=int(rows), row_sum=row_sum, difference=difference, size=size)
        step.map = replace(step.map, badge=badge)


def shapes(*tensors: Tensor) -> tuple[torch.Size, ...]:
    return tuple(tensor.shape for tensor in tensors)


def joined(tensors: list[Tensor]) -> Tensor:
    """Along the batch."""
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors)


def alike(steps: list[PendingStep], name: str) -> list[list[PendingStep]]:
    """Those with the same answer together, in order."""
    groups: dict[Any, list[PendingStep]] = {}
    for step in steps:
        groups.setdefault(getattr(step, name), []).append(step)
    return list(groups.values())


def within_matrices(group: list[PendingStep]) -> list[list[PendingStep]]:
    """The same in groups of no more than so many matrices as there is room for, each of one at least."""
    matrix = group[0].values.projection
    few = len(group) if matrix is None else max(1, MATRICES // max(1, matrix.numel()))
    return [group[start : start + few] for start in range(0, len(group), few)]
