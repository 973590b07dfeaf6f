"""What the server can do, whoever's words it is asked in."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from regard.decoding import Sampling
from regard.errors import RegardError
from regard.server.batch_queue import BatchQueue, QueueItem
from regard.server.guards import Guard
from regard.server.html_texts import translate_document
from regard.server.metrics import ServerMetrics
from regard.server.refusals import LOG, Refusal, as_refusal
from regard.server.registry import ModelRegistry, Route
from regard.server.served_models import (
    GeneratedItem,
    GenerationWork,
    ServedModel,
    TranslatedItem,
    TranslationWork,
    estimated_tokens,
)
from regard.tasks import Generator

ALTERNATIVES = 15  # of a text that may be asked for
CHOICES = 8  # of a prompt
NEW_TOKENS = 2048  # of a continuation
HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class TranslationCall:
    """Texts to translate; without a source, each is looked at for its language."""

    texts: Sequence[str]
    target: str
    source: str | None = None
    html: bool = False
    alternatives: int = 0
    alignments: bool = False


class RoutedTranslation(NamedTuple):
    """A translation and how it came about."""

    item: TranslatedItem
    route: Route


@dataclass(frozen=True)
class GenerationCall:
    """Prompts to go on from."""

    prompts: Sequence[str]
    tokens: int
    temperature: float = 0.0
    top_p: float | None = None
    seed: int | None = None
    choices: int = 1

    def drawn(self) -> Sampling | None:
        """How to draw; without a seed, differently every time."""
        if self.temperature == 0:
            return None
        seed = secrets.randbits(63) if self.seed is None else abs(self.seed)
        return Sampling(self.temperature, None, self.top_p, seed)


@dataclass(frozen=True)
class TranslationService:
    """Models, the queue before them, the guard before that, and a limit on the length of a text."""

    models: ModelRegistry
    queue: BatchQueue
    guard: Guard
    metrics: ServerMetrics
    characters: int

    async def translate(self, call: TranslationCall) -> list[RoutedTranslation]:
        """The translation of each text, in order."""
        self.check_texts(call.texts)
        if not 0 <= call.alternatives <= ALTERNATIVES:
            raise Refusal(400, f"At most {ALTERNATIVES} alternatives are given, and not {call.alternatives}")
        if call.html and (call.alternatives or call.alignments):
            raise Refusal(400, "Alternatives and alignments are given for plain text, and not for HTML")
        routes = [await self.models.route(text, call.source, call.target) for text in call.texts]
        if call.html:
            items = await self.documents(call.texts, routes)
        else:
            items = await self.plain(call, routes)
        return [RoutedTranslation(item, route) for item, route in zip(items, routes, strict=True)]

    async def plain(self, call: TranslationCall, routes: Sequence[Route]) -> list[TranslatedItem]:
        """Texts that are in their language already, and those without words, stay as they are."""
        work = [
            None if route.model is None or not text.strip()
            else TranslationWork(route.model, call.alternatives, call.alignments)
            for text, route in zip(call.texts, routes, strict=True)
        ]  # fmt: skip
        queued = [(text, one) for text, one in zip(call.texts, work, strict=True) if one is not None]
        items = iter(await self.submit([QueueItem(one, text, estimated_tokens(text)) for text, one in queued]))
        return [
            TranslatedItem(text, links=() if call.alignments else None) if one is None else next(items)
            for text, one in zip(call.texts, work, strict=True)
        ]

    async def documents(self, documents: Sequence[str], routes: Sequence[Route]) -> list[TranslatedItem]:
        """HTML: the texts of all documents go through the queue together."""
        tasks = [asyncio.ensure_future(self.document(one, route)) for one, route in zip(documents, routes, strict=True)]
        try:
            return [TranslatedItem(one) for one in await asyncio.gather(*tasks)]
        finally:
            for task in tasks:
                task.cancel()

    async def document(self, html: str, route: Route) -> str:
        if route.model is None:
            return html
        work = TranslationWork(route.model)

        async def translate(texts: list[str]) -> list[str]:
            items = await self.submit([QueueItem(work, text, estimated_tokens(text)) for text in texts])
            return [item.text for item in items]

        return await translate_document(html, translate)

    async def generate(self, model: ServedModel, call: GenerationCall) -> list[list[GeneratedItem]]:
        """For each prompt what follows it, as often as asked."""
        self.check_generation(call)
        work = GenerationWork(model, call.tokens, call.drawn(), call.choices)
        tokens = call.tokens * call.choices
        items: list[list[GeneratedItem]] = await self.submit(
            [QueueItem(work, prompt, estimated_tokens(prompt) + tokens) for prompt in call.prompts]
        )
        return items

    def check_generation(self, call: GenerationCall) -> None:
        self.check_texts(call.prompts)
        if not 1 <= call.tokens <= NEW_TOKENS or not 1 <= call.choices <= CHOICES:
            sentence = f"From 1 to {NEW_TOKENS:,} tokens and from 1 to {CHOICES} choices may be asked for"
            raise Refusal(400, f"{sentence}, and not {call.tokens:,} and {call.choices}")

    def check_texts(self, texts: Sequence[str]) -> None:
        """None too long, and none with half a character, which no model could read and no answer could hold."""
        if any(HALF.search(text) for text in texts):
            raise Refusal(400, "A text has half of a surrogate pair in it, which stands for no character")
        longest = max(map(len, texts), default=0)
        if longest > self.characters:
            sentence = f"A text has {longest:,} characters, where at most {self.characters:,} are read"
            raise Refusal(413, f"{sentence}; please give it in several texts")

    async def submit(self, items: list[QueueItem]) -> list[Any]:
        """Through the queue; whatever a model raises becomes a refusal of the one request that it belongs to."""
        try:
            results = await self.queue.submit(items) if items else []
        except (Refusal, RegardError) as error:
            raise as_refusal(error) from error
        except Exception as error:
            LOG.error("a model failed on a text", exc_info=error)
            raise Refusal(500, f"The model failed on this text ({type(error).__name__})") from error
        self.metrics.characters.inc(sum(len(one.item) for one in items))
        return results


def is_generator(model: ServedModel) -> bool:
    return isinstance(model.task, Generator)
