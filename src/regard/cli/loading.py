"""A model for a verb, or the verb that the model is for."""

from __future__ import annotations

from typing import TypeVar

from regard.errors import InputError
from regard.tasks import Classifier, Generator, Translator, load

T = TypeVar("T", Translator, Generator, Classifier)
VERBS = {Translator: "translate", Generator: "generate", Classifier: "classify"}
KINDS = {Translator: "an encoder-decoder", Generator: "a decoder-only model", Classifier: "an encoder-only model"}


def load_as(kind: type[T], name: str, device: str) -> T:
    """The model of that name, if it is of the kind that a verb needs."""
    task = load(name, device)
    if isinstance(task, kind):
        return task
    found = type(task)
    raise InputError(f"{name} is not {KINDS[kind]}", found=KINDS[found], do=f"regard {VERBS[found]} {name}")
