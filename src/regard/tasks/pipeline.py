"""Texts as people type them to their translations: sentence by sentence, with everything kept that must be."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple, Protocol, Unpack

from regard.tasks.glossary import Glossary
from regard.tasks.translator import SearchOptions, Translation


class TranslatedText(NamedTuple):
    """A translation, how doubtful it is (0 sure .. 1), the terms it does not use, and whether it was cut."""

    text: str
    doubt: float
    unused_terms: tuple[str, ...] = ()
    cut: bool = False


class Searcher(Protocol):
    """What a pipeline needs of a translator."""

    def search(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[list[Translation]]:
        """The best translations of each text, best first."""


class TranslationPipeline:
    """Translates whole texts with a model of sentences."""

    def __init__(self, translator: Searcher, glossary: Glossary | None = None) -> None:
        self.translator, self.glossary = translator, glossary

    def translate(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[TranslatedText]:
        """The translation of each text, in order."""
        best = [results[0] for results in self.translator.search(texts, **options)]
        return [TranslatedText(one.text, 1 - exp(min(one.score, 0.0)), (), one.cut) for one in best]
