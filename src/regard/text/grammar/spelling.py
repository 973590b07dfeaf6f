"""What French words do to their neighbours: elision, contraction, and the spaces between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

VOWELS = frozenset("aeiouyàâéèêëîïôûùœæ")
# Words in h before which nothing is elided. "héros" is one, "héroïne" is not.
ASPIRATED = ("hach", "haie", "hamster", "haricot", "harpe", "haut", "héros", "hérisson")
BEFORE_VOWEL = {
    **{word: word[:-1] + "'" for word in ("le", "la", "de", "que", "ne", "je", "me", "se", "puisque")},
    "ce": "cet",
    "ma": "mon",
    "sa": "son",
}
CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
CHANGING = frozenset((*BEFORE_VOWEL, "les", "si"))


def begins_with_vowel(word: str) -> bool:
    """Whether a word begins with a vowel to the ear: a mute h is none."""
    if word[0] == "h":
        return not word.startswith(ASPIRATED)
    return word[0] in VOWELS


def spelled(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """French words as they are written side by side, and for each word given, the number of the one it went into."""
    written: list[str] = []
    positions: list[int] = []
    for word, following in pairwise((*words, ".")):
        if word in CHANGING:
            word = adapted(word, following)
            contracted = CONTRACTIONS.get((written[-1], word)) if written else None
            if contracted:
                written[-1] = contracted
                positions.append(len(written) - 1)
                continue
        positions.append(len(written))
        written.append(word)
    return written, positions


def adapted(word: str, following: str) -> str:
    """A word as it is written before another one."""
    if word == "si":
        return "s'" if following in ("il", "ils") else "si"
    return BEFORE_VOWEL.get(word, word) if begins_with_vowel(following) else word


def english_text(words: Sequence[str]) -> str:
    """English words as text: a capital at the start, no space before a mark."""
    text = " ".join(words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")
    return text[0].upper() + text[1:]


def french_text(words: Sequence[str]) -> str:
    """French words as text: as in English, but no space after an elided word, and one before a question mark."""
    text = " ".join(words).replace("' ", "'").replace(" ,", ",").replace(" .", ".")
    return text[0].upper() + text[1:]
