"""French endings: plurals, feminines and conjugations by rule. The lexicon gives the exceptions."""

from __future__ import annotations

from typing import NamedTuple

# A person is a number in this order: je, il or elle, nous, vous, ils or elles.
JE, IL, NOUS, VOUS, ILS = range(5)
IMPERFECT = ("ais", "ait", "ions", "iez", "aient")
FUTURE = ("ai", "a", "ons", "ez", "ont")
REGULAR_AL = ("festival",)
FEMININES = (
    ("e", "e"), ("eux", "euse"), ("er", "ère"), ("el", "elle"), ("en", "enne"), ("on", "onne"),
)  # fmt: skip


def plural(word: str) -> str:
    """The plural of a noun, or of the masculine of an adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al") and word not in REGULAR_AL:
        return word[:-2] + "aux"
    return word + ("x" if word.endswith("eau") else "s")


def feminine(word: str) -> str:
    """The feminine of an adjective or participle."""
    for ending, changed in FEMININES:
        if word.endswith(ending):
            return word.removesuffix(ending) + changed
    return word + "e"


class Agreeing(NamedTuple):
    """A word that agrees with a noun: adjective or participle."""

    masculine: str
    feminine: str
    masculines: str
    feminines: str
    before_vowel: str  # the masculine before a noun that begins with a vowel: bel, vieil

    def form(self, gender: str, plural: bool) -> str:
        if gender == "f":
            return self.feminines if plural else self.feminine
        return self.masculines if plural else self.masculine


def agreeing(masculine: str, *exceptions: str) -> Agreeing:
    """All forms of an adjective or participle; exceptions are the forms after the first, in order."""
    she, they, vowel = (*exceptions, "", "", "")[:3]
    she = she or feminine(masculine)
    return Agreeing(masculine, she, they or plural(masculine), plural(she), vowel or masculine)


class Conjugation(NamedTuple):
    """The forms of a French verb, by person."""

    infinitive: str
    participle: Agreeing
    present: tuple[str, ...]
    imperfect: tuple[str, ...]
    future: tuple[str, ...]


def conjugated(infinitive: str, irregular: str | None = None) -> Conjugation:
    """The forms of a verb: by its ending, or from the principal parts in the lexicon."""
    parts = irregular.split() if irregular else regular(infinitive)
    present, participle = tuple(parts[:5]), parts[5]
    future = parts[6] if len(parts) > 6 else infinitive.removesuffix("e")
    stem = "ét" if infinitive == "être" else present[NOUS].removesuffix("ons")
    return Conjugation(
        infinitive,
        agreeing(participle),
        present,
        tuple((stem if ending[0] == "a" else hard(stem)) + ending for ending in IMPERFECT),
        tuple(future + ending for ending in FUTURE),
    )


def hard(stem: str) -> str:
    """A stem before i, where c and g need no help to stay soft: mang-, commenc-."""
    return stem[:-1] + "c" if stem.endswith("ç") else stem.removesuffix("e")


def regular(infinitive: str) -> list[str]:
    """The principal parts of a regular verb."""
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "ir":
        return [stem + end for end in ("is", "it", "issons", "issez", "issent", "i")]
    if ending == "re":
        return [stem + end for end in ("s", "", "ons", "ez", "ent", "u")]
    strong = strengthened(stem)
    soft = stem[:-1] + "ç" if stem.endswith("c") else stem + "e" if stem.endswith("g") else stem
    future = stem + "er" if "é" in stem[-3:] else strong + "er"
    return [strong + "e", strong + "e", soft + "ons", stem + "ez", strong + "ent", stem + "é", future]


def strengthened(stem: str) -> str:
    """The stem of a verb in -er before a silent e: achèt-, appell-, nettoi-, espèr-."""
    if stem.endswith(("appel", "jet")):
        return stem + stem[-1]
    if stem.endswith(("oy", "uy")):
        return stem[:-1] + "i"
    if stem[-2:-1] in ("e", "é"):
        return stem[:-2] + "è" + stem[-1]
    return stem
