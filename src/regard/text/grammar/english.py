"""English endings by rule. The lexicon gives the exceptions."""

from __future__ import annotations

import re
from typing import NamedTuple

PLURALS = {
    "man": "men", "woman": "women", "child": "children", "mouse": "mice", "goose": "geese",
    "wolf": "wolves", "knife": "knives", "shelf": "shelves", "hero": "heroes", "crisis": "crises",
}  # fmt: skip
SOUNDED_AS_CONSONANT = ("European", "useful", "university", "union")


class Forms(NamedTuple):
    """The forms of an English verb."""

    base: str
    third: str  # he crosses
    past: str
    participle: str
    ing: str


def plural(noun: str) -> str:
    """Several of them."""
    return PLURALS.get(noun) or with_s(noun)


def with_s(word: str) -> str:
    """A plural, or a verb in the third person."""
    if word.endswith(("s", "x", "ch", "sh")) or word == "go":
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeou":
        return word[:-1] + "ies"
    return "has" if word == "have" else word + "s"


def verb_forms(base: str, irregular: str | None = None) -> Forms:
    """The forms of a verb, from its base and its irregular past, participle and form in -ing."""
    doubled = base + base[-1] if one_short_syllable(base) else base
    ed = base[:-1] + "ied" if re.search("[^aeou]y$", base) else doubled.removesuffix("e") + "ed"
    ing = doubled if base.endswith("ee") else doubled.removesuffix("e")
    past, participle, ing = (*(irregular.split() if irregular else (ed, ed)), ing + "ing")[:3]
    return Forms(base, with_s(base), past, participle, ing)


def one_short_syllable(word: str) -> bool:
    """Whether the last letter is doubled before an ending: stop, big, run."""
    return re.fullmatch("[^aeiou]*[aeiou][^aeiouwxy]", word) is not None


def article(following: str) -> str:
    """A or an."""
    vowel = following[0] in "aeiouAEIOU" and not following.startswith(SOUNDED_AS_CONSONANT)
    return "an" if vowel or following == "honest" else "a"


def comparative(adjective: str) -> str:
    """Wider, bigger, sunnier, more tired."""
    syllables = len(re.findall("[aeiouy]+", re.sub("(?<=[^aeiouy])e$", "", adjective)))
    if re.search("[^aeiou]y$", adjective) and syllables <= 2:
        return adjective[:-1] + "ier"
    if syllables > 1:
        return "more " + adjective
    return (adjective + adjective[-1] if one_short_syllable(adjective) else adjective).removesuffix("e") + "er"
