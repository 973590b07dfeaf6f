"""A model that is served, and what may be asked of it: batches of texts, in the one thread that owns it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from regard.decoding import Sampling
from regard.errors import InputError
from regard.lens.alignment.choice import ReadingChoice
from regard.lens.alignment.stored_choice import read_choice
from regard.lens.alignment.translation import search_aligned
from regard.server.streaming import new_text, stream_continuation
from regard.tasks import Generator, Translator
from regard.tasks.pipeline import search_lines
from regard.tasks.translator import BaseTranslator
from regard.text.scores.alignment_error import Link

BEAMS = 4  # at least, where several translations of a text are asked for
CHARACTERS = 4  # of a token, about
SHORTEST = 8  # tokens that the shortest text counts for


class TranslatedItem(NamedTuple):
    """A translation, others that were nearly as good, and the links of its words if they were asked for."""

    text: str
    alternatives: tuple[str, ...] = ()
    links: tuple[Link, ...] | None = None


class GeneratedItem(NamedTuple):
    """What follows a prompt, how many tokens both have, and whether the text came to its end."""

    text: str
    prompt_tokens: int
    new_tokens: int
    ended: bool


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A translator with its languages, or a generator without."""

    name: str
    task: BaseTranslator | Generator
    languages: tuple[str, str] | None = None
    choice: ReadingChoice | None = None  # where alignments are read, if that is known

    @classmethod
    def of(
        cls, name: str, task: BaseTranslator | Generator, folder: Path, languages: tuple[str, str] | None
    ) -> ServedModel:
        """With what lies beside it in its folder."""
        choice = read_choice(folder, task.model) if isinstance(task, Translator) else None
        return cls(name, task, languages, choice)

    def tokens(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.task.tokenizer.encode([text])[0])


def estimated_tokens(text: str) -> int:
    """About how much work a text is, for the queue: counting would cost more than being a little wrong."""
    return max(len(text) // CHARACTERS, SHORTEST)


def translate_with(translator: BaseTranslator, texts: Sequence[str]) -> list[str]:
    """The translation of each text, whatever people have typed."""
    return [best[0].text for best in search_lines(translator, texts, {})]


@dataclass(frozen=True)
class TranslationWork:
    """Texts to translate, alone or with alternatives or links."""

    model: ServedModel
    alternatives: int = 0
    alignments: bool = False

    def run(self, texts: Sequence[str]) -> list[TranslatedItem]:
        translator: Any = self.model.task  # of any engine: they share `search`
        if self.alignments:
            return self.aligned(translator, texts)
        best = translate_with(translator, texts)
        if not self.alternatives:
            return [TranslatedItem(text) for text in best]
        width = self.alternatives + 1
        searched = translator.search(texts, nbest=width, beams=max(width, BEAMS))
        others = [[one.text for one in some if one.text != text] for text, some in zip(best, searched, strict=True)]
        return [TranslatedItem(text, tuple(some[: self.alternatives])) for text, some in zip(best, others, strict=True)]

    def aligned(self, translator: object, texts: Sequence[str]) -> list[TranslatedItem]:
        """With links; where nobody knows where to read them, each text chooses alone: none hangs on its neighbours."""
        if not isinstance(translator, Translator):
            raise InputError(
                "alignments are read from attention", found="an engine that shows none", do="serve the model by torch"
            )
        alone = [[text] for text in texts] if self.model.choice is None else [list(texts)]
        width = self.alternatives + 1
        items = []
        for some in alone:
            for best, links in search_aligned(
                translator, some, self.model.choice, nbest=width, beams=max(width, BEAMS)
            )[1]:
                items.append(TranslatedItem(best[0].text, tuple(one.text for one in best[1:]), tuple(links[0])))
        return items


@dataclass(frozen=True)
class GenerationWork:
    """Prompts to go on from: greedily all together; drawn texts have their seed, and so their work, to themselves."""

    model: ServedModel
    tokens: int
    drawn: Sampling | None
    choices: int = 1

    def run(self, prompts: Sequence[str]) -> list[list[GeneratedItem]]:
        generator = self.model.task
        assert isinstance(generator, Generator)
        if self.drawn is None:
            items = [
                generated(generator, one.prompt, one.new, self.tokens) for one in generator.go_on(prompts, self.tokens)
            ]
            return [[item] * self.choices for item in items]
        return [
            [
                generated(generator, one.prompt, one.new, self.tokens)
                for one in generator.go_on([prompt] * self.choices, self.tokens, self.drawn)
            ]
            for prompt in prompts
        ]


@dataclass(frozen=True, eq=False)
class StreamedWork:
    """One prompt whose text is told while it grows. No two are equal, so each is alone."""

    model: ServedModel
    tokens: int
    drawn: Sampling | None
    on_text: Callable[[str], None]

    def run(self, prompts: Sequence[str]) -> list[list[GeneratedItem]]:
        generator = self.model.task
        assert isinstance(generator, Generator)
        (prompt,) = prompts
        one = stream_continuation(generator, prompt, self.tokens, self.drawn, self.on_text)
        return [[generated(generator, one.prompt, one.new, self.tokens)]]


def generated(generator: Generator, prompt: Sequence[int], new: Sequence[int], tokens: int) -> GeneratedItem:
    """What is new in a continuation; it has ended if it stopped before it had to."""
    ends = generator.limits(tokens, len(prompt)).end
    ended = bool(new) and new[-1] in ends
    return GeneratedItem(new_text(generator, prompt, new), len(prompt), len(new), ended)
