"""Names of transformers that it does not promise to keep: what each is for, and what to do when a version moves it.

Nothing else in the package writes them, and transformers is imported only where one is used. A test looks for every
name of `NAMES`, and for every variable of `MAKERS`, in the version that is installed.

Its mask functions are closures over (batch, head, query, key) indices. The known ones are recognised by name and read
from their closure as bounds to the left and right, and padding; what no option of `attend` can say (chunks, packed
texts, unions) is named, to be worked out cell by cell.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

MASKING = "transformers.masking_utils"
NAMES = {
    "transformers.generation.GenerationMixin._beam_search": "the beam search that `generate` runs, asked for the order"
    " of its beams too; instead: what `generate` looks up for GenerationMode.BEAM_SEARCH",
    "transformers.PreTrainedConfig()._attn_implementation": "which attention a model was asked to use; instead: what"
    " its set_attn_implementation writes",
    "transformers.PreTrainedConfig()._attn_implementation_internal": "the same without the setter, which would refuse a"
    " name that is more than a string; instead: what the setter writes",
    "transformers.utils.output_capturing._active_collector": "tells whether somebody asked for output_attentions;"
    " instead: what the wrapper around a model's forward takes that argument into",
    f"{MASKING}.sdpa_mask": "draws a mask that no option can say; instead: what AttentionMaskInterface has for sdpa",
    f"{MASKING}.causal_mask_function": "the mask function of one who names none; instead: sdpa_mask's default",
}


class Maker(NamedTuple):
    """A function of `MASKING` that is a mask function, or makes one that remembers a variable."""

    name: str
    variable: str = ""


AND = Maker("and_masks", "mask_functions")
CAUSAL = Maker("causal_mask_function")
BOTH_WAYS = Maker("bidirectional_mask_function")
WINDOW = Maker("sliding_window_overlay", "sliding_window")
WINDOW_BOTH_WAYS = Maker("sliding_window_bidirectional_overlay", "sliding_window")
PADDING = Maker("padding_mask_function", "padding_mask")
CHUNKS = Maker("chunked_overlay", "chunk_size")
# If one moves: its new name here. Until then its masks are drawn cell by cell, which is right and large.
MAKERS = (AND, CAUSAL, BOTH_WAYS, WINDOW, WINDOW_BOTH_WAYS, PADDING, CHUNKS)


def beam_search(model: Any, input_ids: Tensor, **options: Any) -> Any:
    """The model's own beam search."""
    return type(model)._beam_search(model, input_ids, **options)


def implementation(config: Any, default: Any = None) -> Any:
    """The attention that a config names."""
    return getattr(config, "_attn_implementation", default)


def name_implementation(config: Any, name: str | None) -> None:
    """Write it there, past the setter."""
    config._attn_implementation_internal = name


def collected() -> bool:
    """Does transformers gather weights just now? It takes the argument `output_attentions` for itself."""
    collector = getattr(sys.modules.get("transformers.utils.output_capturing"), "_active_collector", None)
    return any("attentions" in name for name in (collector.get() if collector is not None else None) or ())


def draw_mask(**order: Any) -> Tensor:
    """The mask (batch, 1, queries, keys), True = may look, cell by cell and never left out."""
    from transformers.masking_utils import sdpa_mask

    mask = sdpa_mask(**order, allow_is_causal_skip=False, allow_is_bidirectional_skip=False)
    assert mask is not None
    return mask


def causal_mask_function() -> Callable[..., Any]:
    """The mask function that transformers means when it names none."""
    from transformers.masking_utils import causal_mask_function as function

    return function


MaskFunction = Callable[..., Any]


@dataclass(frozen=True)
class FunctionPattern:
    """A band around each query's own position, padding over it, and the names of what fits neither."""

    left: int | None = None
    right: int | None = None
    paddings: tuple[Tensor, ...] = ()  # (batch, keys) by position in the text, True = may look
    strange: tuple[str, ...] = ()


def read_pattern(function: MaskFunction, end: int) -> FunctionPattern:
    """The pattern of a mask function over keys that stand before position `end`."""
    name = function_name(function)
    maker = next((maker for maker in MAKERS if maker.name == name), None)
    free = free_variables(function)
    if maker is None or (maker.variable and maker.variable not in free):
        return FunctionPattern(strange=(name,))
    remembered: Any = free.get(maker.variable)
    if maker == AND:
        return together(read_pattern(part, end) for part in remembered)
    if maker == CHUNKS:  # all in the first chunk: only padding lies in another
        return FunctionPattern() if end <= remembered else FunctionPattern(strange=(name,))
    return ALONE[maker](remembered)


ALONE: dict[Maker, Callable[[Any], FunctionPattern]] = {
    CAUSAL: lambda _: FunctionPattern(right=0),
    BOTH_WAYS: lambda _: FunctionPattern(),
    WINDOW: lambda window: FunctionPattern(left=window - 1),  # their window counts the token itself
    WINDOW_BOTH_WAYS: lambda window: FunctionPattern(left=window, right=window),
    PADDING: lambda padding: FunctionPattern(paddings=(padding,)),
}


def together(parts: Iterable[FunctionPattern]) -> FunctionPattern:
    """What several patterns leave visible."""
    parts = list(parts)
    lefts = [part.left for part in parts if part.left is not None]
    rights = [part.right for part in parts if part.right is not None]
    return FunctionPattern(
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


NAME = "regard"  # not "flash..." nor "a/b", which transformers takes for kernels to fetch


class ImplementationName(str):
    """`NAME`, in one config, for as long as a session lasts; it still answers to the name that it replaces.

    Some models ask their config by name ("is this eager or sdpa?") and prepare masks accordingly. They get the answer
    they would have got; the tables in which transformers looks functions up know only ours.
    """

    before: str | None  # the implementation that this config had
    sessions: int

    @classmethod
    def of(cls, config: Any) -> ImplementationName:
        """A name for this config, not yet put there; the one that it has, if a session has put one there."""
        name = implementation(config)
        if not isinstance(name, ImplementationName):
            before, name = name, cls(NAME)
            name.before, name.sessions = before, 0
        name.sessions += 1
        return name

    def put(self, config: Any) -> None:
        """Into the config, if transformers has let it be switched to us."""
        if implementation(config) == NAME:
            name_implementation(config, self)

    def let_go(self, config: Any) -> None:
        """With the last session the config is as it was, whatever the order in which sessions end."""
        self.sessions -= 1
        if not self.sessions:
            name_implementation(config, self.before)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == ("eager" if self.before == "eager" else "sdpa")

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A copy is nobody's to let go of: it is the name that was there before."""
        return copy, (self.before,)


def usual(config: Any) -> str | None:
    """The implementation that a config would have without us."""
    name = implementation(config, "sdpa")
    return name.before if isinstance(name, ImplementationName) else name
