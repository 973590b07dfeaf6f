"""Patterns that ask."""

from __future__ import annotations

from regard.text.grammar.doing import personal_frames
from regard.text.grammar.frames import Frame, frames
from regard.text.grammar.french import IL
from regard.text.grammar.lexicon import Verb
from regard.text.grammar.nominal import Features, Nominal, pronoun
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.picker import DEFINITE, Picker
from regard.text.grammar.verbal import be, verb_group

WORDS = {
    "where": aligned("where/W", "où/W"),
    "when": aligned("when/W", "quand/W"),
    "why": aligned("why/W", "pourquoi/W"),
}
FOLLOWING = {"does": "base", "did": "base past", "will": "base future", "can": "base can", "is": "-ing"}


def asked(pick: Picker, verb: Verb, subject: Nominal) -> tuple[Phrase, Phrase]:
    """What stands before the subject of a question, and the verb behind it."""
    kinds = ("does", "will") if verb.lasting else ("does", "did", "did", "will")
    return auxiliary(pick.one(kinds if verb.lasting or verb.momentary else (*kinds, "is")), verb, subject)


def auxiliary(kind: str, verb: Verb, subject: Nominal) -> tuple[Phrase, Phrase]:
    """Does, did, will or is as it stands before a subject, and the verb behind it."""
    plural = {"does": "do", "is": "are"}.get(kind, kind)
    word = kind if subject.features.person == IL else plural
    return aligned(f"{word}/q", "est-ce/q que/q"), verb_group(verb, FOLLOWING[kind], subject.features)


def fronted(word: str, subject: Nominal, behind: Phrase) -> Phrase:
    """A question whose first word, "is" or "can", is also the French verb behind the subject."""
    whole = join(aligned(f"{word}/q", "est-ce/q que/q"), subject.phrase, behind)
    return whole._replace(sure=(*whole.sure, (0, len(whole.french) - len(behind.french))))


def question(pick: Picker, frame: Frame, opening: Phrase | None = None) -> Phrase:
    """Whether, or where, when or why somebody does something."""
    subject = pronoun("you") if frame.subjects == ("person",) and pick.chance(0.25) else pick.nominal(frame.subjects)
    verb = pick.until(frame.verbs, lambda each: opening is None or not each.lasting)
    before, behind = asked(pick, verb, subject)
    rest = join(before, subject.phrase, behind, pick.nominal(frame.objects, DEFINITE).phrase)
    return join(opening, rest) if opening else rest


def whether(pick: Picker) -> Phrase:
    """Did the girl open the door? Est-ce que ..."""
    return question(pick, pick.one(frames("does")))


def why(pick: Picker) -> Phrase:
    """Why did the girl open the door?"""
    return question(pick, pick.one(frames("does")), WORDS[pick.one(tuple(WORDS))])


def where(pick: Picker) -> Phrase:
    """Where is the red key?"""
    thing = pick.nominal(("object", "person", "animal", "vehicle", "place", "property"))
    return join(WORDS["where"], be(thing.features, pick.one(("present", "present", "past"))), thing.phrase)


def who_did(pick: Picker) -> Phrase:
    """Who opened the door?"""
    frame = pick.one(personal_frames())
    verb = pick.one(frame.verbs)
    somebody = Features(IL, "m", False)
    return join(aligned("who/W", "qui/W"), pick.verb(verb, somebody), pick.nominal(frame.objects, DEFINITE).phrase)
