"""A dictionary learned from pairs, and translation word for word by it: what any translator must be better than."""

from __future__ import annotations

import re
from collections.abc import Iterable

from regard.text.word_translations import likeliest

WORD = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)*")
SELDOM = 2  # pairs in which a word occurs before it is believed


def learn_dictionary(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each source word, in small letters, with the target word that most likely stands for it."""
    return likeliest(((words(source), words(target)) for source, target in pairs), SELDOM)


def translate(text: str, dictionary: dict[str, str]) -> str:
    """One word after the other, with capitals as they were; what the dictionary lacks stays as it is."""
    return WORD.sub(lambda match: like(match.group(), dictionary.get(match.group().lower(), match.group())), text)


def like(word: str, translation: str) -> str:
    """A translation with the capital that the word has."""
    return translation[:1].upper() + translation[1:] if word[:1].isupper() else translation


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]
