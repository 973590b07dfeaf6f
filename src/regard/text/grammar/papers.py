"""Patterns of institutions and their papers, where adjectives pile up: "the European economic area"."""

from __future__ import annotations

from regard.text.grammar.frames import frames
from regard.text.grammar.lexicon import Adjective, Noun, Verb, adjectives, nouns, verbs
from regard.text.grammar.nominal import Nominal, noun_phrase
from regard.text.grammar.phrase import Phrase, aligned, join
from regard.text.grammar.picker import Picker
from regard.text.grammar.verbal import Around, Negation, passive, verb_group

ON = aligned("on/O", "sur/O")
NOT_ABOUT = ("budget", "contract", "reform")  # French has them "de", not "sur" something
MONTHS = {"January": "janvier", "April": "avril", "August": "août", "October": "octobre"}
DAYS = {"Monday": "lundi", "Tuesday": "mardi", "Thursday": "jeudi", "Saturday": "samedi", "Sunday": "dimanche"}


def in_month(month: str) -> Phrase:
    """In August: en août."""
    return aligned(f"in/I {month}/M", f"en/I {MONTHS[month]}/M")


def on_day(day: str) -> Phrase:
    """On Monday: lundi."""
    return aligned(f"on {day}/D", f"{DAYS[day]}/D")


def piled(pick: Picker, noun: Noun, share: float = 0.7) -> tuple[Adjective, ...]:
    """Up to three adjectives before a noun, in English order."""
    senses = ("newness",), ("nation", "reach"), ("matter",)
    choices = [pick.adjective(noun, names) for names in senses if pick.chance(share if names != ("newness",) else 0.2)]
    return tuple(adjective for adjective in choices if adjective)


def concerning(paper: Noun, area: Nominal, verb: Verb, month: str, negation: Negation = "") -> Phrase:
    """The agreement on the European economic area was signed in August: the pure part, in which nothing is drawn."""
    head = noun_phrase(paper)
    return join(head.phrase, ON, area.phrase, passive(verb, head.features, negation), in_month(month))


def about(pick: Picker) -> Phrase:
    """The agreement on the European economic area was signed in August."""
    frame = pick.one(frames("decides"))
    paper = pick.noun(tuple(name for name in frame.objects if name not in NOT_ABOUT))
    area = pick.noun(("area",))
    phrase = noun_phrase(area, pick.one(("the", "the", "the", "our", "this")), piled(pick, area, 0.8))
    return concerning(paper, phrase, pick.one(frame.verbs), pick.one(tuple(MONTHS)), pick.negation(0.2))


def european_economic_area() -> Phrase:
    """The lectures' example of words that change places."""
    area = noun_phrase(nouns()["area"], "the", (adjectives()["European"], adjectives()["economic"]))
    return concerning(nouns()["agreement"], area, verbs()["sign"], "August")


def decision(pick: Picker) -> Phrase:
    """The European commission adopted the new agricultural laws."""
    frame = pick.one(frames("decides"))
    body = pick.noun(("institution",))
    subject = noun_phrase(body, pick.one(("the", "the", "our", "a")), piled(pick, body, 0.5))
    around = Around(pick.negation(0.2))
    group = verb_group(pick.one(frame.verbs), pick.one(("past", "past", "perfect", "future")), subject.features, around)
    paper = pick.noun(frame.objects)
    plural = pick.chance(0.2)
    return join(subject.phrase, group, noun_phrase(paper, "the", piled(pick, paper, 0.4), plural).phrase)


def date(pick: Picker) -> Phrase:
    """The meeting begins on Monday."""
    subject = pick.nominal(("event",), plural=0.2)
    verb = verbs()[pick.one(("begin", "begin", "end"))]
    group = verb_group(verb, pick.one(("past", "future", "present")), subject.features)
    day = pick.chance(0.6)
    return join(subject.phrase, group, on_day(pick.one(tuple(DAYS))) if day else in_month(pick.one(tuple(MONTHS))))
