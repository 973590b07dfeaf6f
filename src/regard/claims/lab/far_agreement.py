"""Sentences whose last adjective agrees with a noun so many words before it, with other nouns in between.

"The sister of my neighbour of the famous baker is tired": English does not say of which gender a noun is, French says
"fatiguée", and what stands nearest to it says nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from random import Random
from typing import NamedTuple

from regard.claims.lab.clauses import KEPT_ASIDE
from regard.claims.lab.pair_task import PairIds, PairTask, WordIds
from regard.text.grammar import Sentence
from regard.text.grammar.heldout import digest
from regard.text.grammar.lexicon import Adjective, Noun, describing, group
from regard.text.grammar.nominal import Nominal, noun_phrase
from regard.text.grammar.patterns import ended, written
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.verbal import be, predicate

OPENINGS = (
    Phrase((), ()), aligned("today/T", "aujourd'hui/T"), aligned("I/I think/T that/Q", "je/I pense/T que/Q"),
)  # fmt: skip
OF = aligned("of/O", "de/O")
DETERMINERS = ("the", "my", "our")
TENSES = ("present", "past")
NEAREST = 2  # words from a noun to its adjective where nothing but "is" stands between
LINK = 3  # words of "of the baker"; an adjective makes it one more
PERSON = "person"


class FarTask(NamedTuple):
    """Sentences of all distances to learn from, and tests of each."""

    pairs: PairTask
    tests: dict[int, tuple[PairIds, ...]]
    rivals: dict[int, int]  # of each form of an adjective, as its id: the form of the other gender


@cache
def people() -> dict[str, tuple[Noun, ...]]:
    """By the gender of the French noun."""
    return {gender: tuple(noun for noun in group((PERSON,)) if noun.gender == gender) for gender in "mf"}


@cache
def qualities() -> tuple[Adjective, ...]:
    """Adjectives that can be said of people and whose two genders are written differently."""
    return tuple(one for one in describing(PERSON) if not one.attributive and len(set(forms_of(one))) == 2)


def forms_of(adjective: Adjective) -> tuple[str, ...]:
    """Masculine and feminine."""
    return tuple(adjective.french.form(gender, False) for gender in "mf")


def person(rng: Random, adjectives: tuple[Adjective, ...] = ()) -> Nominal:
    """As often of one gender as of the other."""
    return noun_phrase(rng.choice(people()[rng.choice("mf")]), rng.choice(DETERMINERS), adjectives)


def links(rng: Random, count: int) -> list[Phrase]:
    """People of people, in so many words of English."""
    longer = rng.choice([some for some in range(count // (LINK + 1) + 1) if (count - some * (LINK + 1)) % LINK == 0])
    kinds = [True] * longer + [False] * ((count - longer * (LINK + 1)) // LINK)
    rng.shuffle(kinds)
    adjectives = [one for one in describing(PERSON) if not one.predicative]
    return [join(OF, person(rng, (rng.choice(adjectives),) if kind else ()).phrase) for kind in kinds]


def far_sentence(rng: Random, distance: int) -> Sentence:
    """The adjective stands so many words of English behind its noun."""
    head = person(rng)
    between = links(rng, distance - NEAREST)
    verb = join(be(head.features, rng.choice(TENSES)), predicate(rng.choice(qualities()), head.features))
    return written(ended(join(rng.choice(OPENINGS), head.phrase, *between, verb), "far"), "far")


def far_sentences(name: str, distances: Sequence[int]) -> Iterator[Sentence]:
    """Of "train" or "test", each of one of these distances; none is in both."""
    rng = Random(f"far {name}")
    while True:
        sentence = far_sentence(rng, rng.choice(distances))
        if (digest(sentence.source) % KEPT_ASIDE == 0) == (name == "test"):
            yield sentence


@cache
def far_task(count: int, tests: int, distances: tuple[int, ...]) -> FarTask:
    """So many sentences to learn from, and so many tests of each distance."""
    train = list(islice(far_sentences("train", distances), count))
    asked = {distance: list(islice(far_sentences("test", (distance,)), tests)) for distance in distances}
    source, target = (WordIds(getattr(one, side) for one in train) for side in ("source", "target"))

    def encoded(some: Sequence[Sentence]) -> tuple[PairIds, ...]:
        return tuple(PairIds(source.encode(one.source), target.encode(one.target), one) for one in some)

    both = [[target.numbers[form] for form in forms_of(one)] for one in qualities()]
    rivals = {one: other for forms in both for one, other in (forms, forms[::-1])}
    groups = {distance: encoded(some) for distance, some in asked.items()}
    return FarTask(
        PairTask(encoded(train), (), tuple(pair for some in groups.values() for pair in some), source, target),
        groups, rivals,
    )  # fmt: skip


def share_with_nearest(pairs: Sequence[PairIds]) -> float:
    """How often the adjective has the gender of the noun that stands nearest before it, whichever it agrees with."""
    return sum(with_nearest(pair.sentence) for pair in pairs if pair.sentence) / len(pairs)


def with_nearest(sentence: Sentence) -> bool:
    """The adjective is the last French word but the full stop."""
    genders = {noun.lemma: gender for gender, some in people().items() for noun in some}
    *_, nearest = (genders[word] for word in sentence.source_words if word in genders)
    return any(sentence.target_words[-2] == one.french.form(nearest, False) for one in qualities())
