"""Who does what to whom, read from data/frames.toml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from regard.text.grammar.lexicon import Adjective, Verb, adjectives, table, verbs
from regard.text.grammar.picker import Names


class Frame(NamedTuple):
    """Verbs, and the nouns that may stand before and behind them."""

    subjects: Names
    verbs: tuple[Verb, ...]
    objects: Names


class ItFrame(NamedTuple):
    """A clause with two nouns and what an "it" behind it can be said to be."""

    clause: Frame
    against: tuple[tuple[Adjective, ...], tuple[Adjective, ...]]  # why not: said of the subject, said of the object
    favour: tuple[tuple[Adjective, ...], tuple[Adjective, ...]]  # why: said of the subject, said of the object
    wills: bool  # the subject can want something
    measures: bool  # only too much and enough decide
    contest: bool  # both do the same, and one does it better
    tastes: bool  # the subject can be tasted


def frame(entry: Mapping[str, Any]) -> Frame:
    """One frame from its table."""
    allowed = tuple(verbs()[name] for name in entry["verbs"])
    return Frame(tuple(entry.get("subjects", ())), allowed, tuple(entry.get("objects", ())))


@cache
def frames(name: str) -> tuple[Frame, ...]:
    """The frames of one list: "does", "alone", "simply" or "decides"."""
    return tuple(frame(entry) for entry in table("frames")[name])


@cache
def direct_frames(without: Names = ()) -> tuple[Frame, ...]:
    """What people and animals do, as far as the verb has a French direct object, no particle and ends somewhere."""
    direct = []
    for each in frames("does"):
        fitting = tuple(verb for verb in each.verbs if is_direct(verb) and verb.lemma not in without)
        if fitting:
            direct.append(each._replace(verbs=fitting))
    return tuple(direct)


def is_direct(verb: Verb) -> bool:
    """Whether a verb can be passive, or said of an object that stands before it, word by word in both languages."""
    return verb.direct and not (verb.particle or verb.lasting)


@cache
def it_frame(name: str) -> ItFrame:
    """The frame of one pattern with "it"."""
    entry = table("frames")[name]

    def adjectives_of(side: str) -> tuple[Adjective, ...]:
        return tuple(adjectives()[lemma] for lemma in entry.get(side, ()))

    return ItFrame(
        frame(entry),
        (adjectives_of("against_subject"), adjectives_of("against_object")),
        (adjectives_of("for_subject"), adjectives_of("for_object")),
        *(entry.get(flag, False) for flag in ("wills", "measures", "contest", "tastes")),
    )
