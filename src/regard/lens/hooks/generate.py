"""`generate` of transformers, watched: one call of many turns, whose beams are put in order at its end."""

from __future__ import annotations

from functools import wraps
from typing import Any

from torch import Tensor

from regard.errors import InputError
from regard.lens.hooks.modules import Method, is_encoder_decoder, read_ids
from regard.lens.hooks.session import Session
from regard.lens.hooks.transformers_internals import beam_search


def watched_generate(session: Session, model: Any, generate: Method) -> Method:
    """The same `generate`, of which the recorder knows; it gives what it would have given."""

    @wraps(generate)
    def watched(*args: Any, **kwargs: Any) -> Any:
        with session.exclusive():
            if session.generating and not session.stack.frames:
                session.next_text()
            if session.generating or session.stack.frames or session.recorder is None:
                return generate(*args, **kwargs)
            refuse_strange(model, kwargs)
            kwargs.setdefault("disable_compile", True)  # a compiled forward would call nothing of ours
            with session.writing(source_of(model, args, kwargs), follow_beams(model, kwargs)):
                return generate(*args, **kwargs)

    return watched


def follow_beams(model: Any, kwargs: dict[str, Any]) -> list[Tensor]:
    """A list that will hold the order of the beams, if there are any: another argument of `generate` sees to it."""
    orders: list[Tensor] = []
    search = kwargs.get("custom_generate")
    if isinstance(search, OrderedBeamSearch):  # of another session
        search.orders.append(orders)
    elif search is None and beams(model, kwargs) > 1:
        kwargs["custom_generate"] = OrderedBeamSearch([orders])
    return orders


def source_of(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The ids an encoder-decoder reads; a decoder alone tells its own, turn by turn."""
    if not is_encoder_decoder(model.config):
        return None
    arguments = {"input_ids": kwargs.get("inputs", args[0] if args else None), **kwargs}
    return read_ids(model, lambda **_: None, (), arguments)[0]


def setting_of(model: Any, kwargs: dict[str, Any], name: str) -> Any:
    """A setting of this call of generate: as it was given, else as the model has it."""
    if kwargs.get(name) is not None:
        return kwargs[name]
    configs = (kwargs.get("generation_config"), model.generation_config)
    return next((value for config in configs if (value := getattr(config, name, None)) is not None), None)


def beams(model: Any, kwargs: dict[str, Any]) -> int:
    """How many beams this call of generate will have."""
    return int(setting_of(model, kwargs, "num_beams") or 1)


def refuse_strange(model: Any, kwargs: dict[str, Any]) -> None:
    """Ways to generate whose steps are not those of one text, going on token by token."""
    guided = setting_of(model, kwargs, "guidance_scale") not in (None, 1, 1.0)
    own = kwargs.get("custom_generate")
    strange = {
        "assistant_model": kwargs.get("assistant_model") is not None,
        "prompt_lookup_num_tokens": bool(setting_of(model, kwargs, "prompt_lookup_num_tokens")),
        "assistant_early_exit": bool(setting_of(model, kwargs, "assistant_early_exit")),
        "guidance_scale": guided and not is_encoder_decoder(model.config),
        "cache_implementation='paged'": setting_of(model, kwargs, "cache_implementation") == "paged",
        "custom_generate with beams": beams(model, kwargs) > 1 and not isinstance(own, OrderedBeamSearch | None),
    }
    refused = [name for name, is_asked in strange.items() if is_asked]
    if refused:
        raise InputError(
            "this way to generate cannot be recorded: its steps do not make one text",
            found=", ".join(refused), do="generate without; greedily, by sampling and by beams all give one map",
        )  # fmt: skip


class OrderedBeamSearch:
    """transformers' own beam search, which gives the order of its beams only with all the rest."""

    def __init__(self, orders: list[list[Tensor]]) -> None:
        self.orders = orders  # one list for each session

    def __call__(self, model: Any, input_ids: Tensor, **model_kwargs: Any) -> Any:
        config = model_kwargs["generation_config"]
        wanted = config.return_dict_in_generate
        config.return_dict_in_generate = True
        try:
            result = beam_search(model, input_ids, **model_kwargs)
        finally:
            config.return_dict_in_generate = wanted
        for order in self.orders:
            order.append(result.beam_indices)
        return result if wanted else result.sequences
