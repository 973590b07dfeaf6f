"""The sets of sentences: what is trained on, and what is asked afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from regard.errors import UnknownNameError
from regard.text.grammar.heldout import ANY, IN_TRAINING, UNSEEN_PAIR, digest, held_out_adjective, held_out_pair
from regard.text.grammar.it import IT_PATTERNS
from regard.text.grammar.patterns import OTHERS, SIMPLE_NAMES, STATEMENTS, draw, draw_name, ended, joined, met, written
from regard.text.grammar.picker import Picker, UnluckyError
from regard.text.grammar.sentence import Combination, Sentence
from regard.text.grammar.showcase import example_sources
from regard.text.grammar.spelling import english_text

COUNTS = {"train": 40_000, "valid": 500, "test": 1_000, "unseen": 1_000, "long": 500}
SETS = tuple(COUNTS)
LONGEST = 16  # source words, the full stop included, in all sets but "long"
UNSEEN_IT_SHARE = 0.15  # before sentences without an unseen combination are left out
LONG_IT_SHARE = 0.6


def sentences(name: str, count: int | None = None, seed: int = 0) -> list[Sentence]:
    """The sentences of a set: all different, and the same for the same seed on every machine.

    "train", "valid" and "test" are drawn alike and share no sentence, whatever the seeds. Each sentence of "unseen"
    has a pair of nouns, or an adjective and a noun, that these three never have; in about half of them it is the
    two nouns between which an "it" must choose. "long" joins two or three clauses and exceeds all the others.
    """
    if name not in COUNTS:
        raise UnknownNameError("set of sentences", name, SETS)
    random = Random(f"{name} {seed}")
    others = {"unseen": unseen, "long": long}
    drawn = others[name](random) if name in others else in_training(random, name)
    return list(islice(different(drawn), COUNTS[name] if count is None else count))


def different(drawn: Iterator[Sentence]) -> Iterator[Sentence]:
    """Each sentence once."""
    known = set()
    for sentence in drawn:
        if sentence.source not in known:
            known.add(sentence.source)
            yield sentence


def in_training(random: Random, name: str) -> Iterator[Sentence]:
    """Sentences of the combinations that training may have, as far as they belong to this set."""
    pick = Picker(random, IN_TRAINING)
    while True:
        pattern = draw_name(pick)
        phrase = ended(draw(pick, pattern), pattern)
        if len(phrase.english) <= LONGEST and home(english_text(phrase.english)) == name:
            yield written(phrase, pattern)


def unseen(random: Random) -> Iterator[Sentence]:
    """Sentences with a combination that training never has."""
    pair, anything = Picker(random, UNSEEN_PAIR), Picker(random, ANY)
    while True:
        pick, names = (pair, IT_PATTERNS) if pair.chance(UNSEEN_IT_SHARE) else (anything, (*OTHERS, *SIMPLE_NAMES))
        pattern = pick.one(names)
        phrase = ended(draw(pick, pattern), pattern)
        if len(phrase.english) <= LONGEST and any(map(held_out, met(phrase))):
            yield written(phrase, pattern)


def held_out(combination: Combination) -> bool:
    """Whether training never has a combination."""
    kind, first, second = combination
    return (held_out_pair if kind == "nouns" else held_out_adjective)(first, second)


def long(random: Random) -> Iterator[Sentence]:
    """Two or three clauses, longer together than anything in training."""
    pick = Picker(random, IN_TRAINING)
    while True:
        names = [pick.one(tuple(STATEMENTS)) for _ in range(pick.one((2, 2, 3)))]
        if pick.chance(LONG_IT_SHARE):
            names[pick.one(range(len(names)))] = pick.one(IT_PATTERNS)
        pick.drawn.clear()
        try:
            phrase = joined(pick, names)
        except UnluckyError:
            continue
        if len(phrase.english) >= LONGEST:
            yield written(ended(phrase, "joined"), "joined")


def home(source: str) -> str:
    """The one of train, valid and test that a sentence belongs to; what is shown as an example is never trained on."""
    if source in example_sources():
        return "test"
    return {0: "valid", 1: "test"}.get(digest(source) % 10, "train")
