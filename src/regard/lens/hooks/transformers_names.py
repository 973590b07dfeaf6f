"""Names of transformers that it does not promise to keep: what each is for, and what to do when a version moves it.

Nothing else in the package writes them, and transformers is imported only where one is used. A test looks for every
name of `NAMES`, and for every variable of `MAKERS`, in the version that is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
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
    from transformers.masking_utils import causal_mask_function as found

    return found
