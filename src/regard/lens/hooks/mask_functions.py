"""What a mask function of transformers says, in the words of `attend`: bounds to the left and right, and padding.

Its mask functions are closures over (batch, head, query, key) indices. The known ones are recognised by name and read
from their closure; what no option can say (chunks, packed texts, unions) is named, to be worked out cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.lens.hooks.transformers_names import (
    AND,
    BOTH_WAYS,
    CAUSAL,
    CHUNKS,
    MAKERS,
    MASKING,
    PADDING,
    WINDOW,
    WINDOW_BOTH_WAYS,
    Maker,
)  # fmt: skip

MaskFunction = Callable[..., Any]


@dataclass(frozen=True)
class Pattern:
    """A band around each query's own position, padding over it, and the names of what fits neither."""

    left: int | None = None
    right: int | None = None
    paddings: tuple[Tensor, ...] = ()  # (batch, keys) by position in the text, True = may look
    strange: tuple[str, ...] = ()


def read_pattern(function: MaskFunction, end: int) -> Pattern:
    """The pattern of a mask function over keys that stand before position `end`."""
    name = function_name(function)
    maker = next((maker for maker in MAKERS if maker.name == name), None)
    free = free_variables(function)
    if maker is None or (maker.variable and maker.variable not in free):
        return Pattern(strange=(name,))
    held: Any = free.get(maker.variable)
    if maker == AND:
        return together(read_pattern(part, end) for part in held)
    if maker == CHUNKS:  # all in the first chunk: only padding lies in another
        return Pattern() if end <= held else Pattern(strange=(name,))
    return ALONE[maker](held)


ALONE: dict[Maker, Callable[[Any], Pattern]] = {
    CAUSAL: lambda _: Pattern(right=0),
    BOTH_WAYS: lambda _: Pattern(),
    WINDOW: lambda window: Pattern(left=window - 1),  # their window counts the token itself
    WINDOW_BOTH_WAYS: lambda window: Pattern(left=window, right=window),
    PADDING: lambda padding: Pattern(paddings=(padding,)),
}


def together(parts: Iterable[Pattern]) -> Pattern:
    """What several patterns leave visible."""
    parts = list(parts)
    lefts = [part.left for part in parts if part.left is not None]
    rights = [part.right for part in parts if part.right is not None]
    return Pattern(
        min(lefts, default=None),
        min(rights, default=None),
        tuple(padding for part in parts for padding in part.paddings),
        tuple(name for part in parts for name in part.strange),
    )


def function_name(function: MaskFunction) -> str:
    """The name of the function of transformers that made this one; of any other, its module too."""
    name = str(getattr(function, "__qualname__", type(function).__qualname__)).split(".<locals>", 1)[0]
    module = str(getattr(function, "__module__", "unknown"))
    return name if module == MASKING else f"{module}.{name}"


def free_variables(function: MaskFunction) -> dict[str, Any]:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or cells is None:
        return {}
    return {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}
