"""What a map concatenated from steps measures, and rows of a batch along a path."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.lens.assembly.step import AttentionStep


def taken(tensor: Tensor, rows: Tensor, absent: float = 0.0) -> Tensor:
    """These rows of the batch, in this order."""
    picked = tensor[rows.clamp(min=0).to(tensor.device)]
    if bool((rows < 0).any()):
        picked[(rows < 0).to(tensor.device)] = absent
    return picked


@dataclass(frozen=True)
class ConcatShape:
    """What a map concatenated from steps measures."""

    texts: int
    rows: int
    keys: int
    base: int  # the position in the text of the first key
    offset: int
    grows: bool  # with a cache; else all steps look at the same keys, as at another text

    @classmethod
    def of(cls, steps: list[AttentionStep], path: Tensor, keys: int) -> ConcatShape:
        base, rows = min(step.first for step in steps), sum(step.rows for step in steps)
        grows = len({(step.first, step.stop) for step in steps}) > 1
        return cls(len(path), rows, keys, base, steps[0].position - base if grows else keys - rows, grows)

    def place(self, step: AttentionStep) -> slice:
        """Where the keys of a step stand among all."""
        return slice(step.first - self.base, step.stop - self.base)
