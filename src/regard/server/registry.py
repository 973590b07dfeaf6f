"""Which model answers: by its languages, or by its name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import InputError
from regard.interop.folders import languages_of, where
from regard.server.language_names import language_code
from regard.server.refusals import Refusal
from regard.server.served_models import ServedModel
from regard.tasks import Classifier, Generator
from regard.tasks.model_folder import Task
from regard.text.languages import detect

SURE = 0.9  # of a language, for a text in it to be left as it is


class Route(NamedTuple):
    """How a text gets to its language: its own, how sure that is, and the model; none where nothing is to do."""

    source: str
    confidence: float
    model: ServedModel | None


class ModelRegistry:
    """The models of a server."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        if not models:
            raise InputError("there is nothing to serve", found="no model", do="regard serve MODEL")
        self.by_name: dict[str, ServedModel] = {}
        self.pairs: dict[tuple[str, str], ServedModel] = {}
        for model in models:
            if model.name in self.by_name:
                raise InputError(f"two models are called {model.name}", do="give folders of different names")
            self.by_name[model.name] = model
            if model.languages is not None:
                self.pairs.setdefault(model.languages, model)
        self.languages = tuple(sorted({code for pair in self.pairs for code in pair}))

    def share(self) -> int:
        """How many threads may call any of the models at once; they are told if that is several."""
        tasks: list[Any] = [model.task for model in self.by_name.values()]
        threads = min(getattr(task, "threads", 1) for task in tasks)
        for task in tasks if threads > 1 else []:
            task.shared = True
        return threads

    def named(self, name: str) -> ServedModel:
        if name not in self.by_name:
            raise Refusal(404, f"There is no model {name!r} here; there is {', '.join(self.by_name)}")
        return self.by_name[name]

    def targets(self, source: str) -> list[str]:
        """What a language is translated to."""
        return sorted(target for known, target in self.pairs if known == source)

    def sources(self) -> list[str]:
        return sorted({source for source, _ in self.pairs})

    async def route(self, text: str, source: str | None, target: str) -> Route:
        """From the language that is named, else from the one that it seems to be in."""
        target = language_code(target)
        if source is None:
            return await self.guessed(text, target)
        source = language_code(source)
        if source == target and source in self.languages:
            return Route(source, 1.0, None)
        model = self.pairs.get((source, target))
        if model is None:
            known = ", ".join(f"{one} to {other}" for one, other in sorted(self.pairs)) or "nothing"
            raise Refusal(400, f"{source} is not translated to {target} here; what is: {known}")
        return Route(source, 1.0, model)

    async def guessed(self, text: str, target: str) -> Route:
        for code, share in await self.detect(text):
            if code == target and share >= SURE:
                return Route(code, share, None)
            if (code, target) in self.pairs:
                return Route(code, share, self.pairs[code, target])
        known = ", ".join(sorted({other for _, other in self.pairs})) or "nothing"
        raise Refusal(400, f"Nothing is translated to {target} here; what is: {known}")

    async def detect(self, text: str) -> list[tuple[str, float]]:
        """The languages here, likeliest first; beside the loop, since the first time a table is read."""
        return await asyncio.to_thread(detect, text, self.languages) if self.languages else []


def open_models(names: Sequence[str], load: Callable[[Path], Task]) -> ModelRegistry:
    """The models of these names, each a name or folder, with `=en:fr` behind it where it does not say so itself."""
    return ModelRegistry([open_model(name, load) for name in names])


def open_model(given: str, load: Callable[[Path], Task]) -> ServedModel:
    name, equals, spelt = given.rpartition("=")
    name, spelt = (name, spelt) if equals else (given, "")
    place = where(name)
    task = load(place.folder)
    languages = languages_of(place.folder)
    if spelt:
        source, colon, target = spelt.partition(":")
        if not (source and colon and target):
            raise InputError("languages are two codes", found=f"{spelt!r}", do=f"regard serve {name}=en:fr")
        languages = source, target
    if isinstance(task, Generator):
        return ServedModel.of(served_name(name), task, place.folder, None)
    if isinstance(task, Classifier):
        raise InputError(
            f"{name} cannot be served", found="an encoder-only model", do="give a translator, or one that generates"
        )
    if languages is None:
        raise InputError(
            f"it is not known which languages {name} translates",
            found="no languages under [data] of a recipe.toml beside it",
            do=f"say so: regard serve {name}=en:fr",
        )
    source, target = map(language_code, languages)
    return ServedModel.of(served_name(name), task, place.folder, (source, target))


def served_name(name: str) -> str:
    """What clients call a model: the last part of its folder's name."""
    return Path(name).expanduser().resolve().name if Path(name).expanduser().is_dir() else name
