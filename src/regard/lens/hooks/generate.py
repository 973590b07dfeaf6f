"""`generate`, held: one call of many turns, whose beams are put in order at its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor, nn

from regard.errors import InputError
from regard.lens.hooks.input_ids import is_pair, read_texts
from regard.lens.hooks.session import Grip
from regard.lens.hooks.transformers_names import beam_search


def held_generate(grip: Grip, model: Any, generate: Callable[..., Any]) -> Callable[..., Any]:
    """The same `generate`, told to the recorder; it gives what it would have given."""

    @wraps(generate)
    def told(*args: Any, **kwargs: Any) -> Any:
        with grip.alone():
            if grip.generating and not grip.stack.frames:
                grip.next_text()
            if grip.generating or grip.stack.frames or grip.recorder is None:
                return generate(*args, **kwargs)
            refuse_strange(model, kwargs)
            kwargs.setdefault("disable_compile", True)  # a compiled forward would call nothing of ours
            with grip.writing(source_of(model, args, kwargs), follow_beams(model, kwargs)):
                return generate(*args, **kwargs)

    return told


def follow_beams(model: Any, kwargs: dict[str, Any]) -> list[Tensor]:
    """A list that will hold the order of the beams, if there are any: another argument of `generate` sees to it."""
    orders: list[Tensor] = []
    search = kwargs.get("custom_generate")
    if isinstance(search, BeamSearch):  # of another who holds the model
        search.orders.append(orders)
    elif search is None and beams(model, kwargs) > 1:
        kwargs["custom_generate"] = BeamSearch([orders])
    return orders


def source_of(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The ids an encoder-decoder reads; a decoder alone tells its own, turn by turn."""
    if not is_pair(model.config):
        return None
    given = {"input_ids": kwargs.get("inputs", args[0] if args else None), **kwargs}
    return read_texts(model, lambda **_: None, (), given)[0]


def asked(model: Any, kwargs: dict[str, Any], name: str) -> Any:
    """A setting of this call of generate: as it was given, else as the model has it."""
    if kwargs.get(name) is not None:
        return kwargs[name]
    configs = (kwargs.get("generation_config"), model.generation_config)
    return next((found for config in configs if (found := getattr(config, name, None)) is not None), None)


def beams(model: Any, kwargs: dict[str, Any]) -> int:
    """How many beams this call of generate will have."""
    return int(asked(model, kwargs, "num_beams") or 1)


def refuse_strange(model: Any, kwargs: dict[str, Any]) -> None:
    """Ways to generate whose steps are not those of one text, going on token by token."""
    guided = asked(model, kwargs, "guidance_scale") not in (None, 1, 1.0)
    own = kwargs.get("custom_generate")
    strange = {
        "assistant_model": kwargs.get("assistant_model") is not None,
        "prompt_lookup_num_tokens": bool(asked(model, kwargs, "prompt_lookup_num_tokens")),
        "assistant_early_exit": bool(asked(model, kwargs, "assistant_early_exit")),
        "guidance_scale": guided and not is_pair(model.config),
        "cache_implementation='paged'": asked(model, kwargs, "cache_implementation") == "paged",
        "custom_generate with beams": beams(model, kwargs) > 1 and own is not None and not isinstance(own, BeamSearch),
    }
    found = [name for name, is_asked in strange.items() if is_asked]
    if found:
        raise InputError(
            "this way to generate cannot be recorded: its steps do not make one text",
            found=", ".join(found), do="generate without; greedily, by sampling and by beams all give one map",
        )  # fmt: skip


class BeamSearch:
    """transformers' own beam search, which gives the order of its beams only with all the rest."""

    def __init__(self, orders: list[list[Tensor]]) -> None:
        self.orders = orders  # one list for each who holds the model

    def __call__(self, model: Any, input_ids: Tensor, **model_kwargs: Any) -> Any:
        config = model_kwargs["generation_config"]
        wanted = config.return_dict_in_generate
        config.return_dict_in_generate = True
        found = beam_search(model, input_ids, **model_kwargs)
        config.return_dict_in_generate = wanted
        for order in self.orders:
            order.append(found.beam_indices)
        return found if wanted else found.sequences


def generates(module: nn.Module) -> bool:
    return callable(getattr(module, "generate", None)) and getattr(module, "generation_config", None) is not None
