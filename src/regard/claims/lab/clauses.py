"""A small part of the built-in language: a few patterns of few words, as many of their clauses joined as one likes.

A short training can learn all of it, which shows what a family can do rather than how long it takes to learn words;
and a sentence is as long as its clauses are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random

from regard.claims.lab.pair_task import PairIds, PairTask, WordIds
from regard.text.grammar import Sentence
from regard.text.grammar.heldout import IN_TRAINING, digest
from regard.text.grammar.patterns import ended, joined, written
from regard.text.grammar.picker import Picker, UnluckyError

# Months and days, laws and their subjects, who voted what, who met and thanked whom: adjectives and objects that
# change sides, words that are two or none in French, agreement with nouns and objects.
NAMES = ("about", "date", "decision", "object-pronoun")
DATES = ("date",)  # alone has the fewest words: what begins or ends when
KEPT_ASIDE = 5  # one sentence in so many is never trained on


def clauses(
    name: str, numbers: tuple[int, ...], seed: int = 0, patterns: tuple[str, ...] = NAMES
) -> Iterator[Sentence]:
    """Sentences of "train" or "test", each of one of these numbers of clauses; none is in both, whatever the seeds."""
    pick = Picker(Random(f"clauses {name} {seed}"), IN_TRAINING)
    while True:
        pick.drawn.clear()
        try:
            phrase = joined(pick, [pick.one(patterns) for _ in range(pick.one(numbers))])
        except UnluckyError:
            continue
        sentence = written(ended(phrase, "joined"), "joined")
        if (digest(sentence.source) % KEPT_ASIDE == 0) == (name == "test"):
            yield sentence


@cache
def clause_pairs(count: int, most: int, tests: int = 300, patterns: tuple[str, ...] = NAMES) -> PairTask:
    """What to learn from, sentences of one clause up to `most`, and as many tests of each number."""
    numbers = tuple(range(1, most + 1))
    train = list(islice(clauses("train", numbers, patterns=patterns), count))
    test = [one for number in numbers for one in islice(clauses("test", (number,), patterns=patterns), tests // most)]
    source, target = (WordIds(text for one in train for text in [getattr(one, side)]) for side in ("source", "target"))
    pairs = [
        tuple(PairIds(source.encode(one.source), target.encode(one.target), one) for one in some)
        for some in (train, test)
    ]
    return PairTask(pairs[0], (), pairs[1], source, target)
