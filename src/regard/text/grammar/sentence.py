"""A sentence pair and what is known about it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Link = tuple[int, int]
Combination = tuple[str, str, str]  # ("nouns", a, b): a stands before b; ("adjective", a, n): a is said of n

# An elided French word ends at its apostrophe; other apostrophes and hyphens are inside a word.
ELIDED = "l|d|qu|n|s|j|c|m|t|puisqu|lorsqu|jusqu|quoiqu|presqu"
WORD = re.compile(rf"(?:{ELIDED})['’]|\w+(?:['’-]\w+)*|[^\w\s]", re.IGNORECASE)
PRONOUNS = ("il", "elle")


def words(text: str) -> tuple[str, ...]:
    """The words of either language: split at spaces and punctuation, which is kept as words of its own.

    An elided word keeps its apostrophe ("L'", "n'", "qu'"), and "didn't", "teacher's", "aujourd'hui" and "est-ce" are
    one word each. All word numbers in this package count these words from 0.
    """
    return tuple(WORD.findall(text))


@dataclass(frozen=True, slots=True)
class Pronoun:
    """An "it" that could refer to either of two nouns. Positions are word numbers."""

    source: int  # of "it"
    target: int  # of il or elle
    antecedent: int  # in the source, of the noun it refers to
    rival: int  # in the source, of the other noun
    form: str  # "il" or "elle", what must be written
    gendered: bool  # the two nouns differ in French gender, so that the choice shows understanding


@dataclass(frozen=True, slots=True)
class Sentence:
    """An English sentence, its French translation, and which words correspond.

    A link (i, j) joins source word i and target word j. `sure` links are those any annotator would make: a content
    word with its translation, a determiner, preposition or pronoun with its own counterpart. `possible` holds these
    and, besides, words that correspond only jointly: both halves of "ne ... pas" with the word that carries "n't" or
    the "did" of "did not", whose "not" is surely "pas"; the auxiliary of a passé composé with the English verb, "did"
    with "est-ce que", the "que" of "parce que" with "because". So `sure` is a subset of `possible`, as alignment
    error rates expect. A word without any counterpart, such as the "on" of "on Monday", has no link.
    """

    source: str
    target: str
    pattern: str
    sure: frozenset[Link]
    possible: frozenset[Link]
    pronouns: tuple[Pronoun, ...]
    combinations: frozenset[Combination] = field(default=frozenset(), repr=False, compare=False)

    @property
    def source_words(self) -> tuple[str, ...]:
        return words(self.source)

    @property
    def target_words(self) -> tuple[str, ...]:
        return words(self.target)


def agreement(sentence: Sentence, output: str) -> bool | None:
    """Whether a translation says il or elle as it must: the right one occurs and the other does not.

    None when the sentence has no "it" whose gender shows which noun was meant. A sentence that has one has no other
    il or elle, so counting words is enough.
    """
    gendered = [pronoun for pronoun in sentence.pronouns if pronoun.gendered]
    if not gendered:
        return None
    pronouns = {word for word in words(output.lower()) if word in PRONOUNS}
    return pronouns == {pronoun.form for pronoun in gendered}
