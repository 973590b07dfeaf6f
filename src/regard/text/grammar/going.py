"""Patterns of somebody who goes somewhere, or does something there without an object."""

from __future__ import annotations

from regard.text.grammar.being import place
from regard.text.grammar.frames import frames
from regard.text.grammar.french import ILS
from regard.text.grammar.lexicon import verbs
from regard.text.grammar.nominal import Features
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.picker import SUBJECTS, Picker
from regard.text.grammar.verbal import Around, verb_group

AND, TO, FROM = aligned("and/A", "et/A"), aligned("to/T", "à/T"), aligned("from/F", "de/F")
GOALS = ("place", "farm", "theatre", "hotel", "castle", "factory", "museum", "bank", "university")


def motion(pick: Picker) -> Phrase:
    """The actress went to the market: "est allée au"."""
    subject = pick.nominal(("person",))
    verb = verbs()[pick.one(("go", "go", "return", "come back"))]
    tense = pick.one(("past", "past", "present", "progressive", "future", "perfect"))
    group = verb_group(verb, tense, subject.features, Around(pick.negation(0.2)))
    goal = pick.nominal(GOALS, ("the", "the", "the", "the", "this", "our"), plural=0.1)
    return join(subject.phrase, group, FROM if verb.lemma == "come back" else TO, goal.phrase)


def alone(pick: Picker) -> Phrase:
    """The dog is sleeping under the tree."""
    frame = pick.one(frames("alone"))
    subject = pick.nominal(frame.subjects, SUBJECTS)
    negation = pick.negation(0.0 if subject.phrase.english[0] == "every" else 0.2)
    return join(subject.phrase, pick.verb(pick.one(frame.verbs), subject.features, negation), place(pick))


def reflexive(pick: Picker) -> Phrase:
    """The girls hid behind the wall: "se sont cachées"."""
    subject = pick.nominal(("person", "animal"), ("the", "the", "the", "a", "this", "my", "our"))
    verb = verbs()[pick.one(("hide", "hide", "rest", "stop", "wake up", "hurry"))]
    group = join(subject.phrase, pick.verb(verb, subject.features, pick.negation(0.2)))
    return group if verb.lemma == "hurry" else join(group, place(pick))


def couple(pick: Picker) -> Phrase:
    """The goat and the hen fell: feminine only if both are."""
    kind = pick.one((("person",), ("animal",)))
    first, second = (pick.nominal(kind, ("the", "the", "my", "our"), plural=0.1) for _ in range(2))
    feminine = first.features.gender == second.features.gender == "f"
    both = Features(ILS, "f" if feminine else "m", True)
    verb = verbs()[pick.one(("sleep", "run", "arrive", "fall", "rest", "stay"))]
    group = join(first.phrase, AND, second.phrase, pick.verb(verb, both, pick.negation(0.2)))
    return group if verb.lemma == "arrive" else join(group, place(pick))
