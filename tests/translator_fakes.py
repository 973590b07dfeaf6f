"""Translators that can be relied on to do one thing, good or bad; for tests of what stands around a model."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Unpack

from regard.tasks.translator import SearchOptions, Translation
from regard.text.slots import SLOT, SLOTS

Say = Callable[[str], str]


class FakeTranslator:
    """Says of each text what a function says; `asked` has every text of every search."""

    def __init__(self, say: Say, *, knows_slots: bool = True) -> None:
        self.say, self.knows_slots = say, knows_slots
        self.asked: list[list[str]] = []

    def search(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[list[Translation]]:
        self.asked.append(list(texts))
        one = [[Translation(self.say(text), -1.0, False, -1.0, 2)] for text in texts]
        return [best * options.get("nbest", 1) for best in one]


def dropped(text: str) -> str:
    return SLOT.sub("", text)


def doubled(text: str) -> str:
    return SLOT.sub(r"\g<0> \g<0>", text)


def backwards(text: str) -> str:
    return " ".join(reversed(text.split()))


def made_up(text: str) -> str:
    return f"{SLOTS[7]} {text} {SLOTS[7]}"


def looping(text: str) -> str:
    return " ".join([*text.split(), *(["encore et"] * 40)])


def silent(text: str) -> str:
    return ""


def several_lines(text: str) -> str:
    return f"\n{text}\r\n{text}\u2028\x85"


def without_digits(text: str) -> str:
    return "".join(char for char in text if not char.isdigit())


def noise(text: str) -> str:
    """Something else for each text, with slots and marks in it, but the same each time."""
    rng = random.Random(text)
    letters = [*"abé 12%s{}<>/.!?\n ", *SLOTS, *text]
    return "".join(rng.choice(letters) for _ in range(rng.randint(0, 2 * len(text) + 3)))


HOSTILE = [
    dropped,
    doubled,
    backwards,
    made_up,
    looping,
    silent,
    several_lines,
    without_digits,
    noise,
    str.swapcase,
    str,
]
