"""`generate`, held: one call of many turns, whose beams are put in order at its end."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor, nn

from regard.lens.holding.grip import Grip
from regard.lens.holding.texts import is_pair, read_texts


def held_generate(grip: Grip, model: Any, generate: Callable[..., Any]) -> Callable[..., Any]:
    """The same `generate`, told to the recorder; it gives what it would have given."""

    @wraps(generate)
    def told(*args: Any, **kwargs: Any) -> Any:
        if grip.generating or grip.stack.frames or grip.recorder is None:
            return generate(*args, **kwargs)
        orders: list[Tensor] = []
        search = kwargs.get("custom_generate")
        if isinstance(search, BeamSearch):
            search.orders.append(orders)
        elif search is None and beams(model, kwargs) > 1:
            kwargs["custom_generate"] = BeamSearch([orders])
        kwargs.setdefault("disable_compile", True)  # a compiled forward would call nothing of ours
        grip.generating, grip.read = True, 0
        grip.recorder.begin_call(source_of(model, args, kwargs))
        try:
            return generate(*args, **kwargs)
        finally:
            grip.generating = False
            grip.recorder.end_call(order=orders[-1] if orders else None)

    return told


def source_of(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The ids an encoder-decoder reads; a decoder alone tells its own, turn by turn."""
    if not is_pair(model.config):
        return None
    given = {"input_ids": kwargs.get("inputs", args[0] if args else None), **kwargs}
    return read_texts(model, lambda **_: None, (), given)[0]


def beams(model: Any, kwargs: dict[str, Any]) -> int:
    """How many beams this call of generate will have."""
    for place in (kwargs.get("num_beams"), *(
        getattr(config, "num_beams", None) for config in (kwargs.get("generation_config"), model.generation_config)
    )):  # fmt: skip
        if place is not None:
            return int(place)
    return 1


class BeamSearch:
    """transformers' own beam search, which gives the order of its beams only with all the rest."""

    def __init__(self, orders: list[list[Tensor]]) -> None:
        self.orders = orders  # one list for each who holds the model

    def __call__(self, model: Any, input_ids: Tensor, **model_kwargs: Any) -> Any:
        config = model_kwargs["generation_config"]
        wanted = config.return_dict_in_generate
        config.return_dict_in_generate = True
        found = type(model)._beam_search(model, input_ids, **model_kwargs)
        config.return_dict_in_generate = wanted
        for order in self.orders:
            order.append(found.beam_indices)
        return found if wanted else found.sequences


def generates(module: nn.Module) -> bool:
    return callable(getattr(module, "generate", None)) and getattr(module, "generation_config", None) is not None
