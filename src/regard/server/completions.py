"""Texts for OpenAI's API, whole or piece by piece: what a generator goes on with, or what a translator makes of it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.server.batch_queue import QueueItem
from regard.server.refusals import Refusal
from regard.server.served_models import (
    GeneratedItem,
    ServedModel,
    StreamedWork,
    TranslationWork,
    estimated_tokens,
)
from regard.server.service import CHOICES, GenerationCall, TranslationService, is_generator
from regard.server.streaming import AbandonedError

PIECE = re.compile(r"\S+\s*|\s+")  # a word and the space behind it


class StreamPiece(NamedTuple):
    """More of a text; the last one has the whole."""

    text: str
    item: GeneratedItem | None = None


@dataclass(frozen=True)
class TextRequest:
    """A request of either kind, and what ends a text."""

    service: TranslationService
    model: ServedModel
    call: GenerationCall
    stops: tuple[str, ...] = ()

    async def texts(self) -> list[list[GeneratedItem]]:
        """For each prompt its texts."""
        if is_generator(self.model):
            items = await self.service.generate(self.model, self.call)
        else:
            items = await self.translations()
        return [[self.stopped(item) for item in some] for some in items]

    async def translations(self) -> list[list[GeneratedItem]]:
        """As many as asked for, the best first; where the search has fewer, the best again."""
        call, model = self.call, self.model
        self.service.check_texts(call.prompts)
        if not 1 <= call.choices <= CHOICES:
            raise Refusal(400, f"From 1 to {CHOICES} choices may be asked for, and not {call.choices}")
        work = TranslationWork(model, call.choices - 1)
        answers = await self.service.submit(
            [QueueItem(work, prompt, estimated_tokens(prompt)) for prompt in call.prompts]
        )
        return [
            [self.counted(prompt, text) for text in [answer.text, *answer.alternatives]]
            + [self.counted(prompt, answer.text)] * (call.choices - 1 - len(answer.alternatives))
            for prompt, answer in zip(call.prompts, answers, strict=True)
        ]

    def counted(self, prompt: str, text: str) -> GeneratedItem:
        return GeneratedItem(text, self.model.tokens(prompt), self.model.tokens(text), True)

    def stopped(self, item: GeneratedItem) -> GeneratedItem:
        """Without what follows a text that was to end it."""
        end = first_stop(item.text, self.stops)
        return item if end is None else item._replace(text=item.text[:end], ended=True)

    async def pieces(self) -> AsyncIterator[StreamPiece]:
        """One prompt's one text as it grows. A translation is sent in words once it is there."""
        if not is_generator(self.model):
            ((item, *_),) = await self.texts()
            for piece in PIECE.findall(item.text):
                yield StreamPiece(piece)
            yield StreamPiece("", item)
            return
        async for piece in self.generated():
            yield piece

    async def generated(self) -> AsyncIterator[StreamPiece]:
        """From the thread that owns the model; when nobody listens any more it is asked to stop."""
        self.service.check_generation(self.call)
        loop, growing, gone = asyncio.get_running_loop(), asyncio.Queue[str | None](), False

        def tell(text: str) -> None:
            if gone:
                raise AbandonedError
            loop.call_soon_threadsafe(growing.put_nowait, text)

        work = StreamedWork(self.model, self.call.tokens, self.call.drawn(), tell)
        (prompt,) = self.call.prompts
        tokens = estimated_tokens(prompt) + self.call.tokens
        answer = asyncio.ensure_future(self.service.submit([QueueItem(work, prompt, tokens)]))
        answer.add_done_callback(lambda _: growing.put_nowait(None))
        sent = 0
        try:
            while (text := await growing.get()) is not None:
                safe = text[: ready(text, self.stops)]
                if len(safe) > sent:
                    yield StreamPiece(safe[sent:])
                    sent = len(safe)
            ((item,),) = await answer
            item = self.stopped(item)
            yield StreamPiece(item.text[sent:], item)
        finally:
            gone = True
            answer.cancel()


def first_stop(text: str, stops: Sequence[str]) -> int | None:
    """Where the first of these begins."""
    return min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)


def ready(text: str, stops: Sequence[str]) -> int:
    """How much of a growing text may be sent: nothing that might turn out to be the beginning of a stop."""
    end = first_stop(text, stops)
    if end is not None:
        return end
    return max(len(text) - max((len(stop) - 1 for stop in stops), default=0), 0)
