"""Sentences in fours that differ in one adjective: it makes "it" the subject or the object, il or elle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from regard.claims.lab.pair_task import PairIds, PairTask, WordIds
from regard.text.grammar import Sentence
from regard.text.grammar.frames import ItFrame, it_frame
from regard.text.grammar.heldout import IN_TRAINING
from regard.text.grammar.it import Reason, it_clause
from regard.text.grammar.lexicon import Adjective, Noun
from regard.text.grammar.nominal import noun_phrase
from regard.text.grammar.patterns import ended, written
from regard.text.grammar.picker import Picker, UnluckyError
from regard.text.grammar.sentence_sets import home

# Those in which what is said against either noun is why something was not done.
PATTERNS = ("it-cross", "it-explore", "it-jump", "it-sleep", "it-eat", "it-fit", "it-pass", "it-drive", "it-sail")


@dataclass(frozen=True)
class ItPair:
    """ "It was too tired", and "it was too wide": the animal or the street; and each noun with another adjective."""

    subject: Sentence
    thing: Sentence
    subject_again: Sentence
    thing_again: Sentence

    @property
    def all(self) -> tuple[Sentence, ...]:
        return self.subject, self.thing, self.subject_again, self.thing_again

    @property
    def other_way(self) -> ItPair:
        return ItPair(self.thing, self.subject, self.thing_again, self.subject_again)


def it_pairs(count: int, seed: int, *, trained_on: bool = False, patterns: tuple[str, ...] = PATTERNS) -> list[ItPair]:
    """Of different pairs so many, drawn by a seed; either all may be trained on, or the first two never are."""
    pick, known = Picker(Random(f"it pairs {seed} {trained_on}"), IN_TRAINING), set[str]()
    pairs: list[ItPair] = []
    while len(pairs) < count:
        pick.drawn.clear()
        try:
            pair = pair_of(pick, pick.one(patterns), trained_on)
        except UnluckyError:
            continue
        if pair.subject.source not in known:
            known.add(pair.subject.source)
            pairs.append(pair)
    return pairs


def pair_of(pick: Picker, pattern: str, trained_on: bool) -> ItPair:
    """The animal didn't cross the street because it was too tired, or scared, or wide, or long."""
    frame = it_frame(pattern)
    first, second = pick.noun(frame.clause.subjects), pick.noun(frame.clause.objects)
    if first.gender == second.gender:
        raise UnluckyError
    verb, connective = pick.one(frame.clause.verbs), pick.one(("because", "since"))

    def reason_for(adjective: Adjective, about_subject: bool, wanted: bool) -> Sentence:
        reason = Reason(connective, about_subject, "too", adjective)
        clause = it_clause(noun_phrase(first), verb, "past", "n't", noun_phrase(second), reason)
        sentence = written(ended(clause, pattern), pattern)
        if wanted and (home(sentence.source) == "train") != trained_on:
            raise UnluckyError
        return sentence

    (one, again), (other, other_again) = two_reasons(pick, frame, first, 0), two_reasons(pick, frame, second, 1)
    subject, thing = reason_for(one, True, True), reason_for(other, False, True)
    return ItPair(subject, thing, reason_for(again, True, trained_on), reason_for(other_again, False, trained_on))


def two_reasons(pick: Picker, frame: ItFrame, noun: Noun, place: int) -> tuple[Adjective, Adjective]:
    """Two adjectives that can be said against a noun."""

    def fits(adjective: Adjective) -> bool:
        return pick.rule.adjective(adjective, noun) and not adjective.absolute

    first = pick.until(frame.against[place], fits)
    return first, pick.until(frame.against[place], lambda adjective: adjective is not first and fits(adjective))


@cache
def it_task(count: int, patterns: tuple[str, ...] = PATTERNS) -> PairTask:
    """To be trained on: the sentences of so many pairs, each word an id. What is asked is drawn by `it_pairs`."""
    train = [one for pair in it_pairs(count, 0, trained_on=True, patterns=patterns) for one in pair.all]
    source, target = (WordIds(text for one in train for text in [getattr(one, side)]) for side in ("source", "target"))
    pairs = tuple(PairIds(source.encode(one.source), target.encode(one.target), one) for one in train)
    return PairTask(pairs, (), (), source, target)
