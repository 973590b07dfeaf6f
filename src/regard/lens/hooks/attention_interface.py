"""The adapter for Hugging Face's attention interface: one function and one mask function of ours, under one name."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from regard.attention import attend
from regard.attention.inputs import ScoreOptions
from regard.attention.torch_names import past_own_mode
from regard.errors import InputError
from regard.lens.hooks.attention_call import AttentionCall, output_projection, same_batch
from regard.lens.hooks.lazy_mask import lazy_mask, with_mask
from regard.lens.hooks.session import attention_around, dispatch
from regard.lens.hooks.shared_settings import SharedContext
from regard.lens.hooks.transformers_internals import NAME, ImplementationName, collected, usual

SWITCHING = threading.Lock()


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    softcap: float | None = None,
    position_bias: Tensor | None = None,
    s_aux: Tensor | None = None,
    **more: Any,
) -> tuple[Tensor, Tensor | None]:
    """What transformers calls instead of its own; a `sliding_window` or `indices` stand in the mask already."""
    refuse_paged(module, more.get("cache"))
    asked = more.get("output_attentions") or getattr(getattr(module, "config", None), "output_attentions", False)
    options: ScoreOptions = {"scale": None if scaling is None else float(scaling), "softcap": softcap or None}
    with past_own_mode():  # what we calculate need not come by it
        if position_bias is not None and (position_bias.requires_grad or bool(position_bias.any())):
            keys = key.shape[-2]
            options["bias"] = position_bias if position_bias.shape[-1] == keys else position_bias[..., :keys]
        if s_aux is not None:
            options["sinks"] = s_aux.reshape(-1)
        call = understood(module, (query, key, value), options, float(dropout), attention_mask, is_causal)
        output, call = dispatch(call, module)
        wanted = usual(getattr(module, "config", None)) == "eager" and (asked or collected())
        return output.transpose(1, 2).contiguous(), dense_weights(call, key.shape[-2]) if wanted else None


def understood(
    module: nn.Module, tensors: tuple[Tensor, Tensor, Tensor], options: ScoreOptions, dropout: float,
    mask: Tensor | None, is_causal: bool | None,
) -> AttentionCall:  # fmt: skip
    """The call in the words of `attend`."""
    query, key, value = tensors
    before = usual(getattr(module, "config", None))
    call = AttentionCall(
        query, same_batch(query, key), same_batch(query, value), options, f"regard in place of {before}", dropout,
        projection=output_projection(module, query.shape[1] * value.shape[-1], attention_around(module)),
    )  # fmt: skip
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    return with_mask(call, mask, causal=bool(causal) and before != "eager")  # eager masks nothing by itself


def dense_weights(call: AttentionCall, keys: int) -> Tensor:
    """All weights, for a caller who asked eager attention for them."""
    _, steps = attend(call.query, call.key, call.value, **call.options, see="steps")
    return nn.functional.pad(steps.weights, (0, keys - call.key.shape[-2])).to(call.query.dtype)


def refuse_paged(module: nn.Module, cache: Any) -> None:
    """Continuous batching lays the keys of many texts out in pages, which only its own functions can read."""
    if cache is not None:
        raise InputError(
            f"{type(module).__name__} asks for attention that cannot be watched",
            found=f"the argument 'cache' of {type(cache).__name__}",
            do="leave out continuous batching (cache_implementation='paged')",
        )


def register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, lazy_mask)  # without this, masks would silently not arrive


def is_huggingface(module: nn.Module) -> bool:
    """Is this a model of transformers? Known without importing it."""
    return any(
        kind.__module__ == "transformers.modeling_utils" and kind.__name__ == "PreTrainedModel"
        for kind in type(module).__mro__
    )


@contextmanager
def attention_interface(model: nn.Module) -> Iterator[None]:
    """All models of transformers within this one on our implementation, and afterwards each on its own again."""
    models: list[Any] = [part for part in model.modules() if is_huggingface(part)]
    if not models:
        yield
        return
    register()
    configs = list({id(config): config for part in models for config in family(part.config)}.values())
    with SWITCHING:  # until all is in its place: other threads may share a config
        names = [ImplementationName.of(config) for config in configs]
        with quietly():  # of models that do not follow it, transformers would warn: we count instead
            for part in models:
                part.set_attn_implementation(NAME)
        for config, name in zip(configs, names, strict=True):
            name.put(config)
    try:
        yield
    finally:
        with SWITCHING:
            for config, name in zip(configs, names, strict=True):
                name.let_go(config)


def family(config: Any) -> Iterator[Any]:
    """A config and all within it."""
    yield config
    for name in getattr(config, "sub_configs", {}):
        part = getattr(config, name, None)
        if part is not None:
            yield from family(part)


@SharedContext
@contextmanager
def quietly() -> Iterator[None]:
    logger = logging.getLogger("transformers.modeling_utils")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
