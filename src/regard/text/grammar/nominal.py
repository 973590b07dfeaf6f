"""Noun phrases and pronouns: determiners, adjectives in their places, agreement."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from regard.text.grammar import english
from regard.text.grammar.french import IL, ILS, JE, NOUS, VOUS
from regard.text.grammar.lexicon import Adjective, Noun
from regard.text.grammar.phrase import Phrase, Word, aligned, linked
from regard.text.grammar.spelling import begins_with_vowel

# English determiner: French masculine, feminine, plural. A second word is written after a space.
DETERMINERS = {
    "the": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "this": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "your": ("votre", "votre", "vos"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
    "every": ("chaque", "chaque", ""),
    "some": ("de le", "de la", "des"),
    "": ("de le", "de la", "des"),  # bare: "apples", "water"
    "any": ("de", "de", "de"),
    "many": ("", "", "beaucoup de"),
    "several": ("", "", "plusieurs"),
    "two": ("", "", "deux"),
    "three": ("", "", "trois"),
    "four": ("", "", "quatre"),
    "ten": ("", "", "dix"),
}
PLURAL_ONLY = ("many", "several", "two", "three", "four", "ten")


class Features(NamedTuple):
    """What agrees with a noun phrase."""

    person: int
    gender: str
    plural: bool


class Nominal(NamedTuple):
    """A noun phrase or pronoun, and what agrees with it."""

    phrase: Phrase
    features: Features


@lru_cache(maxsize=1 << 14)
def noun_phrase(
    noun: Noun, determiner: str = "the", adjectives: tuple[Adjective, ...] = (), plural: bool = False
) -> Nominal:
    """A noun with its determiner and adjectives, these in English order."""
    letters = dict(zip(adjectives, "ABC", strict=False))
    ours: list[Word] = [(adjective.lemma, letter) for adjective, letter in letters.items()]
    ours.append((noun.plural if plural else noun.lemma, "N"))
    if determiner:
        ours.insert(0, (english_determiner(determiner, ours[0][0], plural), "D"))
    phrase = linked(ours, french_words(noun, determiner, letters, plural))
    modifiers = tuple((adjective.lemma, noun.lemma) for adjective in adjectives)
    phrase = phrase._replace(nouns=((noun.lemma, len(ours) - 1),), modifiers=modifiers)
    return Nominal(phrase, Features(ILS if plural else IL, noun.gender, plural))


def english_determiner(determiner: str, following: str, plural: bool) -> str:
    """The determiner as it is written before a word."""
    if determiner == "this" and plural:
        return "these"
    return english.article(following) if determiner == "a" else determiner


def french_words(noun: Noun, determiner: str, letters: dict[Adjective, str], plural: bool) -> list[Word]:
    """The French side: some adjectives before the noun in English order, the others behind it the other way round."""
    head = noun.french_plural if plural else noun.french
    words: list[Word] = [(head, "N")]
    for adjective, letter in reversed(letters.items()):
        form = adjective.french.form(noun.gender, plural)
        if not adjective.before:
            words.append((form, letter))
        else:
            vowel = noun.gender == "m" and not plural and begins_with_vowel(words[0][0])
            words.insert(0, (adjective.french.before_vowel if vowel else form, letter))
    forms = DETERMINERS[determiner]
    chosen = forms[2] if plural else forms[noun.gender == "f"]
    if chosen == "des" and words[0][0] != head:
        chosen = "de"
    letters_of_it = "Dd" if determiner not in ("", "some") else "DD" if determiner else "nn"
    return [*zip(chosen.split(), letters_of_it, strict=False), *words]


@cache
def pronoun(word: str) -> Nominal:
    """A personal pronoun as subject. "They" without a noun is ils, "you" is vous."""
    return Nominal(aligned(f"{word}/P", f"{PRONOUNS[word][0]}/P"), PRONOUNS[word][1])


PRONOUNS = {
    "I": ("je", Features(JE, "m", False)),
    "he": ("il", Features(IL, "m", False)),
    "she": ("elle", Features(IL, "f", False)),
    "we": ("nous", Features(NOUS, "m", True)),
    "you": ("vous", Features(VOUS, "m", True)),
    "they": ("ils", Features(ILS, "m", True)),
}
