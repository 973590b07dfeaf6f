"""What a call of a model read: its ids, found among the arguments whatever their order."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

OTHER = re.compile(r"mask|position|type|label|target", re.IGNORECASE)  # whole numbers too, and no text
WHOLE = (torch.int64, torch.int32, torch.int16, torch.uint8)


def read_texts(
    model: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Tensor | None, Tensor | None]:
    """(ids, target ids) of a call: of an encoder-decoder the source's and the target's, else the ids alone."""
    given = named(forward, args, kwargs)
    ids, target = given.get("input_ids"), given.get("decoder_input_ids")
    if target is None and given.get("decoder_inputs_embeds") is None and callable(shift := shifting(model)):
        labels = (
            ids if given.get("labels") is None else given["labels"]
        )  # such as BART's decoder reads its source again
        target = shift(labels) if are_ids(labels) else None
    if ids is None and "input_ids" not in given:
        ids = next((thing for thing in unnamed(model, given) if are_ids(thing)), None)
    return ids if are_ids(ids) else None, target if are_ids(target) else None


def unnamed(model: nn.Module, given: dict[str, Any]) -> Iterator[Any]:
    """What may be ids though it is not called so: what a wrapper hands on, or any argument of a model of one's own."""
    for name, thing in given.items():
        if isinstance(thing, tuple):
            yield from thing
        elif not hasattr(model, "config") and not OTHER.search(name):
            yield thing


def named(forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments by name."""
    try:
        bound = inspect.signature(forward).bind_partial(*args, **kwargs)
    except (TypeError, ValueError):  # the model itself will say what is wrong
        return dict(kwargs)
    return {**bound.arguments, **kwargs}


def shifting(model: nn.Module) -> Any:
    """How an encoder-decoder makes its decoder's input from labels, if it does."""
    config = getattr(model, "config", None)
    return getattr(model, "prepare_decoder_input_ids_from_labels", None) if is_pair(config) else None


def is_pair(config: Any) -> bool:
    return bool(getattr(config, "is_encoder_decoder", False))


def are_ids(thing: Any) -> bool:
    return isinstance(thing, Tensor) and thing.ndim == 2 and thing.dtype in WHOLE
