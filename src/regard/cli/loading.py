"""A model for a verb, or the verb that the model is for."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import typer

from regard.errors import InputError
from regard.interop.folders import where
from regard.tasks import Classifier, Generator, Translator, load
from regard.tasks.model_folder import Task
from regard.tasks.translator import BaseTranslator

T = TypeVar("T", Translator, Generator, Classifier)
VERBS = {Translator: "translate", Generator: "generate", Classifier: "classify"}
KINDS = {Translator: "an encoder-decoder", Generator: "a decoder-only model", Classifier: "an encoder-only model"}


def load_as(kind: type[T], name: str, device: str) -> T:
    """The model of that name, if it is of the kind that a verb needs."""
    task = load_any(name, device)
    if isinstance(task, kind):
        return task
    actual = type(task)
    raise InputError(f"{name} is not {KINDS[kind]}", found=KINDS[actual], do=f"regard {VERBS[actual]} {name}")


def load_any(name: str, device: str) -> Task:
    """The model of that name, of whatever kind; which of several it is, is said."""
    return load(folder_of(name), device)


def folder_of(name: str) -> Path:
    """The folder of the model of that name; which of several it is, is said."""
    place = where(name)
    if place.note:
        typer.echo(f"note: {place.note}", err=True)
    return place.folder


def load_for(name: str, device: str, engine: str, numbers: str) -> BaseTranslator:
    """The translator of that name, in the engine and the numbers that were asked for."""
    if engine == "torch":
        task = load_as(Translator, name, device)
        task.compute_in(numbers)
        return task
    translator: BaseTranslator = load(folder_of(name), device, engine, quantization=numbers)
    return translator
