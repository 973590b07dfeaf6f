"""Slots: single characters that stand for what must come out as it went in: a name, an address, a placeholder.

A model learns them from pairs in which a word that both sides share was replaced by a slot (`with_slots`). Whoever
translates may then put one wherever something must not change, and what it stood for back afterwards. They are
characters for private use, which no text has a meaning for.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence

FIRST, COUNT = 0xE000, 8
SLOTS = tuple(chr(FIRST + number) for number in range(COUNT))
SLOT = re.compile(f"[{SLOTS[0]}-{SLOTS[-1]}]")
MOST = 3  # slots of one pair
SHORTEST = 4  # letters of a word in small letters that is worth a slot: shorter ones are often equal by accident
WORD = re.compile(r"\S+")
EDGES = ".,;:!?\"'()[]«»…“”’"  # what may stand around a word without being part of it


def are_tokens(encode: Callable[[Sequence[str]], list[list[int]]]) -> bool:
    """Whether a tokenizer has a token for each slot, as it does when it was learned from texts with slots.

    A model that was trained with it knows them, whatever format it has since been written in.
    """
    return all(len(ids) <= 2 for ids in encode([f" {slot}" for slot in SLOTS]))  # and the end of the text


def shared_words(source: str, target: str) -> list[str]:
    """Words that stand exactly once on either side, and look as if they had to be the same."""
    theirs = Counter(bare(word) for word in WORD.findall(target))
    ours = Counter(bare(word) for word in WORD.findall(source))
    return [word for word, count in ours.items() if count == 1 and theirs[word] == 1 and is_opaque(word)]


def bare(word: str) -> str:
    """Without the punctuation around it."""
    return word.strip(EDGES)


def is_opaque(word: str) -> bool:
    """Whether a word may stand for something that no dictionary has: no small word of either language."""
    return bool(word) and (not word.isalpha() or not word.islower() or len(word) >= SHORTEST)


def with_slots(source: str, target: str, rng: random.Random) -> tuple[str, str]:
    """The pair with a few of its shared words replaced by slots, or as it is where it shares none."""
    words = shared_words(source, target)
    chosen = rng.sample(words, min(len(words), rng.randint(1, MOST)))
    for word, slot in zip(chosen, rng.sample(SLOTS, len(chosen)), strict=True):
        source, target = replaced(source, word, slot), replaced(target, word, slot)
    return source, target


def replaced(text: str, word: str, slot: str) -> str:
    """The text with its one word of that form replaced, and what stands around it kept."""
    for match in WORD.finditer(text):
        if bare(match[0]) == word:
            begin = match.start() + match[0].index(word)
            return text[:begin] + slot + text[begin + len(word) :]
    return text
