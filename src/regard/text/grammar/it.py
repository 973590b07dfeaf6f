"""Clauses after which "it" may be either of two nouns, and only what is said of it tells which.

"The animal didn't cross the street because it was too tired" is about the animal, "too wide" about the street, and
French must choose: il or elle. Whether it is the subject or the object is drawn by a fair coin, for every verb.
"""

from __future__ import annotations

from typing import NamedTuple

from regard.text.grammar.frames import ItFrame, it_frame
from regard.text.grammar.lexicon import Adjective, Noun, Verb
from regard.text.grammar.nominal import Features, Nominal, noun_phrase
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.picker import Picker
from regard.text.grammar.sentence import Pronoun
from regard.text.grammar.verbal import Around, Negation, be, predicate, verb_group

IT_PATTERNS = (
    "it-cross", "it-explore", "it-jump", "it-sleep", "it-eat", "it-catch",
    "it-fit", "it-pass", "it-drive", "it-sail", "it-lift", "it-buy", "it-bake",
)  # fmt: skip
CONNECTIVES = {
    "because": aligned("because/B", "parce/B que/b"),
    "since": aligned("since/B", "puisque/B"),
    "even though": aligned("even/E though/T", "même/E si/T"),
    "but": aligned(",/C but/B", ",/C mais/B"),
    "and": aligned("and/B", "et/B"),
}
PAST = ("past", "could", "wanted")
# Senses that say nothing about why: they may stand before either noun.
NEUTRAL = ("age", "youth", "newness", "coat", "paint", "nation", "reach", "matter")
SAME_GENDER_KEPT = 0.5


class Reason(NamedTuple):
    """What is said of "it"."""

    connective: str
    about_subject: bool
    degree: str
    adjective: Adjective
    tastes: bool = False  # "it tasted good", where French says that it was


def it_clause(subject: Nominal, verb: Verb, tense: str, negation: Negation, thing: Nominal, reason: Reason) -> Phrase:
    """A clause, and why: the pure part, in which nothing is drawn."""
    meant = (subject if reason.about_subject else thing).features
    form = "il" if meant.gender == "m" else "elle"
    whole = join(
        subject.phrase,
        verb_group(verb, tense, subject.features, Around(negation)),
        thing.phrase,
        CONNECTIVES[reason.connective],
        aligned("it/I", f"{form}/I"),
        is_or_tastes(meant, "past" if tense in PAST else "present", reason.tastes),
        predicate(reason.adjective, meant, reason.degree),
    )
    (noun, antecedent), (_, rival) = whole.nouns if reason.about_subject else whole.nouns[::-1]
    gendered = subject.features.gender != thing.features.gender
    pronoun = Pronoun(whole.english.index("it"), whole.french.index(form), antecedent, rival, form, gendered)
    return whole._replace(modifiers=(*whole.modifiers, (reason.adjective.lemma, noun)), pronouns=(pronoun,))


def is_or_tastes(meant: Features, tense: str, tastes: bool) -> Phrase:
    """The verb of the second clause."""
    if not tastes:
        return be(meant, tense)
    (french,) = be(meant, tense).french
    return aligned(f"{'tasted' if tense == 'past' else 'tastes'}/B", f"{french}/B")


def draw_it(pick: Picker, name: str) -> Phrase:
    """A sentence of one of these patterns."""
    frame = it_frame(name)
    first, second = draw_nouns(pick, frame)
    negation = pick.negation(0.0 if frame.tastes else 0.6)
    connective = draw_connective(pick, frame, bool(negation))
    about_subject = pick.chance(0.5)
    reason = draw_reason(pick, frame, bool(negation), connective, first if about_subject else second, about_subject)
    subject = noun_phrase(first, pick.one(("the",) * 8 + ("this", "my", "our", "her")), neutral(pick, first))
    thing = noun_phrase(second, pick.one(("the",) * 9 + ("this",)), neutral(pick, second))
    tense = "wanted" if connective == "but" else draw_tense(pick, frame, bool(negation))
    return it_clause(subject, pick.one(frame.clause.verbs), tense, negation, thing, reason)


def draw_nouns(pick: Picker, frame: ItFrame) -> tuple[Noun, Noun]:
    """Two nouns, more often of different French gender than chance would have it."""
    first, second = pick.noun(frame.clause.subjects), pick.noun(frame.clause.objects)
    if first.gender == second.gender and not pick.chance(SAME_GENDER_KEPT):
        pick.drawn.pop()
        second = pick.noun(frame.clause.objects)
    return first, second


def neutral(pick: Picker, noun: Noun) -> tuple[Adjective, ...]:
    """Now and then an adjective that gives no reason."""
    adjective = pick.adjective(noun, NEUTRAL) if pick.chance(0.15) else None
    return (adjective,) if adjective else ()


def draw_connective(pick: Picker, frame: ItFrame, negative: bool) -> str:
    """How the second clause is joined to the first."""
    if frame.tastes:
        return "and"
    if frame.measures or frame.contest:
        return pick.one(("because", "because", "because", "since"))
    if frame.wills and not negative and pick.chance(0.25):
        return "but"
    return pick.one(("because",) * 5 + ("since", "even though", "even though"))


def draw_reason(
    pick: Picker, frame: ItFrame, negative: bool, connective: str, noun: Noun, about_subject: bool
) -> Reason:
    """What is said of the noun: against what was done when it was not, or was done all the same; else in favour."""
    against = connective == "but" or negative != (connective == "even though")
    known = (frame.against if against else frame.favour)[not about_subject]
    adjective = pick.until(known, lambda each: pick.rule.adjective(each, noun))
    if adjective.absolute:
        degree = ""
    elif frame.measures:
        degree = "too" if against else "enough"
    elif connective == "even though":
        degree = pick.one(("very", "very", "so", ""))
    else:
        too = against or (frame.contest and not about_subject)
        degree = pick.one(("too", "too", "too", "so", "very") if too else ("very", "very", "so", ""))
    return Reason(connective, about_subject, degree, adjective, frame.tastes and about_subject and pick.chance(0.6))


def draw_tense(pick: Picker, frame: ItFrame, negative: bool) -> str:
    """The tense of the first clause."""
    if frame.tastes:
        return pick.one(("past", "past", "present"))
    usual = (
        ("past",) * 5 + ("present",) * 3 + ("future", "could" if negative else "past", "can" if negative else "past")
    )
    return pick.one((*usual, "want", "wanted") if frame.wills and negative else usual)
