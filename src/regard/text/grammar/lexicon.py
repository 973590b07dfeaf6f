"""The words of both languages with all their forms, read from the tables in data/."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from regard.text.grammar import english, french


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in both languages."""

    lemma: str
    plural: str
    french: str
    french_plural: str
    gender: str  # of the French one: "m" or "f"
    kind: str
    mass: bool  # some water, never two waters


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective in both languages."""

    lemma: str
    french: french.Agreeing
    kind: str
    rank: int  # English adjectives stand in this order
    before: bool  # stands before the French noun
    attributive: bool  # never said with "to be"
    predicative: bool  # only said with "to be"
    absolute: bool  # never said with "too" or "very"


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb in both languages, each with the particle it takes before its object, if any."""

    lemma: str
    english: english.Forms
    particle: str
    french: french.Conjugation
    french_particle: str
    reflexive: bool
    with_be: bool  # the passé composé takes être
    lasting: bool  # the English past is a French imparfait
    momentary: bool  # not said in -ing

    @property
    def direct(self) -> bool:
        """Whether its object follows without any preposition in French, as passives and relatives in que need."""
        return not (self.french_particle or self.with_be)


def table(name: str) -> dict[str, Any]:
    """One file of the lexicon."""
    return tomllib.loads((files("regard.text.grammar") / "data" / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def nouns() -> Mapping[str, Noun]:
    """All nouns by their English lemma."""
    by_lemma = {}
    for kind, entries in table("nouns").items():
        for lemma, entry in entries.items():
            word, gender, *mass = entry.split()
            plurals = english.plural(lemma), french.plural(word)
            by_lemma[lemma] = Noun(lemma, plurals[0], word, plurals[1], gender, kind, bool(mass))
    return by_lemma


@cache
def group(names: tuple[str, ...]) -> tuple[Noun, ...]:
    """The nouns of some kinds, where a name may also be that of a single noun."""
    return tuple(noun for name in names for noun in members(name))


@cache
def members(name: str) -> tuple[Noun, ...]:
    """The nouns of a kind, or one noun."""
    return tuple(noun for noun in nouns().values() if noun.kind == name) or (nouns()[name],)


@cache
def adjectives() -> Mapping[str, Adjective]:
    """All adjectives by their English lemma."""
    by_lemma = {}
    for kind, sense in table("adjectives").items():
        for entry in sense["words"]:
            lemma, forms = entry.split(": ")
            by_lemma[lemma] = Adjective(
                lemma=lemma,
                french=french.agreeing(*forms.split()),
                kind=kind,
                rank=sense["rank"],
                before=sense.get("before", False),
                attributive=sense.get("attributive", False),
                predicative=sense.get("predicative", False),
                absolute=lemma in sense.get("absolute", ()),
            )
    return by_lemma


@cache
def describing(kind: str, senses: tuple[str, ...] = ()) -> tuple[Adjective, ...]:
    """The adjectives that may be said of a kind of noun, of these senses if some are named."""
    known = {name for name, sense in table("adjectives").items() if kind in sense["of"] and name in (senses or (name,))}
    return tuple(adjective for adjective in adjectives().values() if adjective.kind in known)


@cache
def verbs() -> Mapping[str, Verb]:
    """All verbs by their English lemma, particle included."""
    data = table("verbs")
    return {ours: verb(ours, theirs, data) for ours, theirs in data["pairs"].items()}


def verb(ours: str, theirs: str, data: Mapping[str, Any]) -> Verb:
    """One verb from the two words of its line."""
    base, _, particle = ours.partition(" ")
    plain = theirs.removeprefix("se ").removeprefix("s'")
    infinitive, _, french_particle = plain.partition(" ")
    kinds = data["kinds"]
    return Verb(
        lemma=ours,
        english=english.verb_forms(base, data["english"].get(base)),
        particle=particle,
        french=french.conjugated(infinitive, data["french"].get(infinitive)),
        french_particle=french_particle,
        reflexive=plain != theirs,
        with_be=plain != theirs or infinitive in kinds["with_etre"],
        lasting=ours in kinds["lasting"],
        momentary=ours in kinds["momentary"],
    )


@cache
def helper(infinitive: str) -> french.Conjugation:
    """A French auxiliary: être, avoir, aller, pouvoir, vouloir, devoir."""
    return french.conjugated(infinitive, table("verbs")["french"][infinitive])
