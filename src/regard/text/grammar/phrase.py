"""Pieces of a sentence in both languages at once, with the links between their words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from regard.text.grammar.sentence import Link, Pronoun

Word = tuple[str, str]  # what is written, and the letters that link it


class Phrase(NamedTuple):
    """Words of both languages, counted from 0 in each, before elision and contraction."""

    english: tuple[str, ...]
    french: tuple[str, ...]
    sure: tuple[Link, ...] = ()
    loose: tuple[Link, ...] = ()  # possible, not sure
    nouns: tuple[tuple[str, int], ...] = ()  # each with its English position
    modifiers: tuple[tuple[str, str], ...] = ()  # adjectives, each with the noun it is said of
    pronouns: tuple[Pronoun, ...] = ()


def linked(english: Sequence[Word], french: Sequence[Word]) -> Phrase:
    """Link every two words that share a letter: surely when both have it as a capital, possibly otherwise."""
    holders: dict[str, list[tuple[int, bool]]] = {}
    for j, (_, letters) in enumerate(french):
        for letter in letters:
            holders.setdefault(letter.upper(), []).append((j, letter.isupper()))
    sure: list[Link] = []
    loose: list[Link] = []
    for i, (_, letters) in enumerate(english):
        for letter in letters:
            for j, capital in holders.get(letter.upper(), ()):
                (sure if capital and letter.isupper() else loose).append((i, j))
    return Phrase(tuple([text for text, _ in english]), tuple([text for text, _ in french]), tuple(sure), tuple(loose))


@cache
def aligned(english: str, french: str) -> Phrase:
    """A phrase as one writes it down: `aligned("because/B", "parce/B que/b")`."""
    return linked(marked(english), marked(french))


def marked(text: str) -> list[Word]:
    """Words with their letters, from "text/LETTERS"; a word without letters has no link."""
    return [(word, marks) for word, _, marks in (piece.partition("/") for piece in text.split())]


def join(*phrases: Phrase) -> Phrase:
    """Phrases one after the other, in the same order in both languages."""
    placed, i, j = [], 0, 0
    for phrase in phrases:
        placed.append((phrase, i, j))
        i, j = i + len(phrase.english), j + len(phrase.french)
    return Phrase(
        tuple([word for phrase in phrases for word in phrase.english]),
        tuple([word for phrase in phrases for word in phrase.french]),
        tuple([(a + i, b + j) for phrase, i, j in placed for a, b in phrase.sure]),
        tuple([(a + i, b + j) for phrase, i, j in placed for a, b in phrase.loose]),
        tuple([(noun, place + i) for phrase, i, _ in placed for noun, place in phrase.nouns]),
        tuple([pair for phrase in phrases for pair in phrase.modifiers]),
        tuple([shifted(pronoun, i, j) for phrase, i, j in placed for pronoun in phrase.pronouns]),
    )


def shifted(pronoun: Pronoun, i: int, j: int) -> Pronoun:
    """The same pronoun behind i more English and j more French words."""
    positions = pronoun.source + i, pronoun.target + j, pronoun.antecedent + i, pronoun.rival + i
    return Pronoun(*positions, pronoun.form, pronoun.gendered)
