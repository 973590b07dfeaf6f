"""Which combinations training never sees, and to which set a sentence belongs: by digest, so for every seed alike."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from regard.text.grammar.lexicon import Adjective, Noun

ONE_IN = 10


def digest(text: str) -> int:
    """A number that is the same on every machine and in every run."""
    return zlib.crc32(text.encode())


@cache
def held_out_pair(noun_a: str, noun_b: str) -> bool:
    """Whether training never has the first noun anywhere before the second in one sentence. English lemmas."""
    return digest(f"{noun_a} before {noun_b}") % ONE_IN == 0


@cache
def held_out_adjective(adjective: str, noun: str) -> bool:
    """Whether training never says this adjective of this noun, before it, with "to be", or through an "it"."""
    return digest(f"{adjective} said of {noun}") % ONE_IN == 0


class Rule(NamedTuple):
    """Which combinations may be drawn."""

    nouns: Callable[[Noun, Noun], bool]
    adjective: Callable[[Adjective, Noun], bool]


IN_TRAINING = Rule(
    lambda first, second: not held_out_pair(first.lemma, second.lemma),
    lambda adjective, noun: not held_out_adjective(adjective.lemma, noun.lemma),
)
ANY = Rule(lambda first, second: True, lambda adjective, noun: True)
# For sentences with an "it" between two nouns never seen together, whose French gender tells them apart.
UNSEEN_PAIR = Rule(
    lambda first, second: first.gender != second.gender and held_out_pair(first.lemma, second.lemma),
    lambda adjective, noun: True,
)
