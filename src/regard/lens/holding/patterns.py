"""What a mask function of transformers says, in the words of `attend`: bounds to the left and right, and padding.

Its mask functions are closures over (batch, head, query, key) indices. The known ones are recognised by name and read
from their closure; what no option can say (chunks, packed texts, unions) is named, to be worked out cell by cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

MaskFunction = Callable[..., Any]
THEIRS = "transformers.masking_utils"


@dataclass(frozen=True)
class Pattern:
    """A band around each query's own position, padding over it, and the names of what fits neither."""

    left: int | None = None
    right: int | None = None
    paddings: tuple[Tensor, ...] = ()  # (batch, keys) by position in the text, True = may look
    strange: tuple[str, ...] = ()


def read_pattern(function: MaskFunction, end: int) -> Pattern:
    """The pattern of a mask function over keys that stand before position `end`."""
    name, free = function_name(function), free_variables(function)
    if name == "and_masks":
        return together(read_pattern(part, end) for part in free["mask_functions"])
    if name == "causal_mask_function":
        return Pattern(right=0)
    if name == "bidirectional_mask_function":
        return Pattern()
    if name == "sliding_window_overlay":
        return Pattern(left=free["sliding_window"] - 1)  # their window counts the token itself
    if name == "sliding_window_bidirectional_overlay":
        return Pattern(left=free["sliding_window"], right=free["sliding_window"])
    if name == "padding_mask_function":
        return Pattern(paddings=(free["padding_mask"],))
    if name == "chunked_overlay" and end <= free["chunk_size"]:
        return Pattern()  # all in the first chunk: only padding lies in another
    return Pattern(strange=(name,))


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
    return name if module == THEIRS else f"{module}.{name}"


def free_variables(function: MaskFunction) -> dict[str, Any]:
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or cells is None:
        return {}
    return {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}
