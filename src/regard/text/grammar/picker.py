"""Drawing words for one sentence after another, within a rule about which may meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from regard.text.grammar.heldout import Rule
from regard.text.grammar.lexicon import Adjective, Noun, Verb, describing, group
from regard.text.grammar.nominal import PLURAL_ONLY, Features, Nominal, noun_phrase
from regard.text.grammar.phrase import Phrase
from regard.text.grammar.verbal import Around, Negation, verb_group

Item = TypeVar("Item")
Names = tuple[str, ...]

TRIES = 60
COLOUR = 4  # the rank of colours; beyond it are origins and matters
DEFINITE = ("the",) * 7 + ("this", "my", "your", "his", "her", "our", "their")
SUBJECTS = ("the",) * 8 + ("a", "a", "this", "my", "our", "every")
OBJECTS = ("the",) * 5 + ("a",) * 4 + ("this", "my", "his", "her", "their", "some")
TENSES = ("past",) * 4 + ("present",) * 3 + ("future",) * 2 + ("perfect", "going")
LONGER_TENSES = (*TENSES, "progressive", "progressive", "past progressive")
LASTING_TENSES = ("present", "past", "future")
IN_FULL = 1 / 3  # of all negations: "did not", where the others are "didn't"


class UnluckyError(Exception):
    """No words that fit were found; the next try may have more luck."""


class Picker:
    """Draws the words of a sentence. Nouns are to be drawn in their English order: the rule is about that order."""

    def __init__(self, random: Random, rule: Rule) -> None:
        self.random, self.rule = random, rule
        self.drawn: list[Noun] = []

    def one(self, items: Sequence[Item]) -> Item:
        """One of them, each as likely."""
        return items[int(self.random.random() * len(items))]

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self.random.random() < share

    def until(self, items: Sequence[Item], fits: Callable[[Item], bool]) -> Item:
        """One of them that fits."""
        for _ in range(TRIES):
            if fits(item := self.one(items)):
                return item
        raise UnluckyError

    def noun(self, names: Names) -> Noun:
        """A noun of some kinds that has not been drawn for this sentence and may meet those that have."""
        noun = self.until(group(names), self.may_come)
        self.drawn.append(noun)
        return noun

    def may_come(self, noun: Noun) -> bool:
        """Whether a noun may follow those already drawn."""
        return all(noun is not other and self.rule.nouns(other, noun) for other in self.drawn)

    def adjective(self, noun: Noun, senses: Names = ()) -> Adjective | None:
        """An adjective for a noun, of these senses if some are named; None if there is none."""
        known = describing(noun.kind, senses)
        return self.until(known, lambda each: self.rule.adjective(each, noun)) if known else None

    def adjectives(self, noun: Noun, share: float = 0.35) -> tuple[Adjective, ...]:
        """None, one or two adjectives before a noun, in English order."""
        first = self.adjective(noun) if self.chance(share) else None
        if first is None or first.predicative:
            return ()
        second = self.adjective(noun) if self.chance(share) else None
        if second is None or not together(first, second):
            return (first,)
        return (first, second) if first.rank < second.rank else (second, first)

    def nominal(self, names: Names, determiners: Names = DEFINITE, plural: float = 0.25) -> Nominal:
        """A noun phrase."""
        noun = self.noun(names)
        determiner = self.one(determiners)
        if noun.mass and determiner in ("a", "every"):
            determiner = "the"
        many = determiner in PLURAL_ONLY or (self.chance(plural) and determiner not in ("a", "every"))
        if determiner in ("some", "any", "") and not noun.mass:
            many = True
        return noun_phrase(noun, determiner, self.adjectives(noun), many and not noun.mass)

    def tense(self, verb: Verb) -> str:
        """A tense in which the verb is said."""
        return self.one(LASTING_TENSES if verb.lasting else TENSES if verb.momentary else LONGER_TENSES)

    def verb(self, verb: Verb, subject: Features, negation: Negation = "") -> Phrase:
        """A verb in some tense."""
        return verb_group(verb, self.tense(verb), subject, Around(negation))

    def negation(self, share: float) -> Negation:
        """A negation in this share of cases, a third of them in full."""
        if not self.chance(share):
            return ""
        return "not" if self.chance(IN_FULL) else "n't"


def together(first: Adjective, second: Adjective) -> bool:
    """Whether both may be said of one noun, on the same side of it only as French likes to have them."""
    if first.rank == second.rank or second.predicative:
        return False
    if first.before and second.before:
        return "beautiful" in (first.lemma, second.lemma) and "size" in (first.kind, second.kind)
    return first.before or second.before or max(first.rank, second.rank) >= COLOUR
