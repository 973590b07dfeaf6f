"""The hook that makes changes of heads, and knows afterwards whether each of them met what it was meant for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from regard.errors import InputError, UnknownNameError
from regard.lens.hooks.attention_inputs import RowPositions
from regard.lens.hooks.changes import Change


class Changer:
    """Makes the changes, the first given innermost, and knows which sites it met and what it changed."""

    def __init__(self, changes: Sequence[Change], model: nn.Module) -> None:
        self.changes, self.met, self.effective = list(changes), set[str](), set[int]()
        self.positions = RowPositions(model)

    def __call__(
        self, site: str, call: Callable[..., Tensor], query: Tensor, key: Tensor, value: Tensor, **options: Any
    ) -> Tensor:
        self.met.add(site)
        mine = [change for change in self.changes if change.concerns(site)]
        inputs = self.positions.inputs(site, query, key, value, options)
        if not mine:
            return call(query, key, value, **options)
        for change in mine:
            before, inputs = inputs, change.ask(inputs)
            if inputs is not before or change.answers(inputs):
                self.effective.add(id(change))
        output = call(inputs.query, inputs.key, inputs.value, **inputs.options)
        for change in mine:
            if change.answers(inputs):
                output = change.answer(inputs, output)
        return output

    def check(self) -> None:
        """Refuse to have done nothing: a change of a site that the model does not have, or of a row that never came."""
        for change in self.changes:
            if self.met and not any(change.concerns(site) for site in self.met):
                raise UnknownNameError("site", change.site, sorted(self.met))
            if self.met and id(change) not in self.effective and not self.positions.stepped:
                raise InputError(
                    "a change of this block changed nothing", found=f"{change}: no such row or key came",
                    do="rows and keys count from 0; look how long the text is",
                )  # fmt: skip
