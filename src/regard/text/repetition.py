"""Translations that go round in circles: noticed, and brought to an end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

LONGEST = 10  # words of what is said again and again
TIMES = 3  # in a row; a single word, or what the source repeats itself, once more than that
STUCK = re.compile(r"(\w{1,12}?)\1{7,}")  # within a word
GRAM, GRAMS = 4, 3  # words that a text has no more often than this, though not in a row


def repeats(text: str, source: str) -> bool:
    """Whether a translation says the same again and again, or is far longer than its source, which is not so itself."""
    if len(text) > longest(source):
        return True
    words, theirs = text.lower().split(), source.lower().split()
    allowed = most_in_a_row(theirs)
    if any(in_a_row(words, size) >= max(TIMES + (size == 1), allowed + 2) for size in sizes(words)):
        return True
    if most_grams(words) > GRAMS + most_grams(theirs):
        return True
    return STUCK.search(text) is not None and STUCK.search(source) is None


def longest(source: str) -> int:
    """Characters that a translation may have."""
    return 4 * len(source) + 60


def sizes(words: Sequence[str]) -> range:
    return range(1, min(LONGEST, len(words) // 2) + 1)


def most_in_a_row(words: Sequence[str]) -> int:
    return max((in_a_row(words, size) for size in sizes(words)), default=1)


def in_a_row(words: Sequence[str], size: int) -> int:
    """How often so many words are said one time right after the other, at most."""
    best = run = 0
    for number in range(size, len(words)):
        run = run + 1 if words[number] == words[number - size] else 0
        best = max(best, run)
    return best // size + 1


def most_grams(words: Sequence[str]) -> int:
    grams = Counter(tuple(words[number : number + GRAM]) for number in range(len(words) - GRAM + 1))
    return max(grams.values(), default=0)


def without_repeats(text: str, source: str) -> str:
    """The text with what is said again and again said once, and no longer than a translation may be."""
    words = text.split()
    for size in range(1, LONGEST + 1):
        short: list[str] = []
        for word in words:
            short.append(word)
            if len(short) >= 2 * size and short[-size:] == short[-2 * size : -size]:
                del short[-size:]
        words = short
    text = STUCK.sub(lambda match: match[1], " ".join(words))
    if len(text) <= longest(source):
        return text
    return text[: longest(source)].rsplit(" ", 1)[0]
