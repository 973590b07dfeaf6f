"""config.json of other people: what is read from it, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor

from regard.errors import InputError

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}


class Foreign(NamedTuple):
    """A model in another library's terms: its config.json and its tensors."""

    config: dict[str, Any]
    tensors: dict[str, Tensor]


class Settings:
    """A config.json with the defaults that its own library would fill in."""

    def __init__(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self.values = {**defaults, **config}

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name)

    def activation(self, name: str) -> str:
        known = ACTIVATIONS.get(str(self[name]))
        if known is None:
            raise InputError(
                f"the activation {self[name]!r} is not one of ours",
                found=f"{name}={self[name]!r} in config.json",
                do=f"use a model with one of {', '.join(ACTIVATIONS)}",
            )
        return known

    def same(self, one: str, other: str) -> Any:
        """A number that our models have once and theirs twice."""
        if self[one] != self[other]:
            raise InputError(
                f"{one} and {other} must be equal in our models",
                found=f"{one}={self[one]}, {other}={self[other]}",
                do="look at this model through transformers instead",
            )
        return self[one]

    def refuse(self, neutral: Mapping[str, Any]) -> None:
        """Refuse any of these settings that changes the arithmetic."""
        for name, value in neutral.items():
            if self[name] not in (value, None):
                raise InputError(
                    f"{name}={self[name]!r} changes the arithmetic in a way that our models do not have",
                    found=f"{name}={self[name]!r} in config.json",
                    do=f"use a model with {name}={value!r}",
                )

    def end(self) -> int | None:
        """The id that ends a text: the first when there are several."""
        end: int | list[int] | None = self["eos_token_id"]
        return next(iter(end), None) if isinstance(end, list) else end


def demand(condition: bool, wrong: str, *, actual: str, do: str) -> None:
    """What a foreign format cannot express is refused with a sentence."""
    if not condition:
        raise InputError(wrong, found=actual, do=do)
