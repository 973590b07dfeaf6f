"""How a set of the built-in language is named where a file could stand: "grammar:test", "grammar:train:20000".

A third number is a seed: "grammar:test:1000:7" is drawn like "grammar:test:1000", by other chances.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import InputError, UnknownNameError
from regard.text.grammar.sentence import Sentence
from regard.text.grammar.sentence_sets import SETS, sentences

PREFIX = "grammar:"
NUMBERS = re.compile("(?::([1-9][0-9]{0,8})(?::([0-9]{1,9}))?)?")  # a count, and a seed


@dataclass(frozen=True)
class Named:
    """A set, how many of its sentences (None: as many as it has), and the seed they are drawn by."""

    name: str
    count: int | None = None
    seed: int = 0

    def sentences(self, most: int | None = None) -> list[Sentence]:
        """Its sentences, or the first so many."""
        counts = [count for count in (self.count, most) if count is not None]
        return sentences(self.name, min(counts) if counts else None, self.seed)


def is_grammar(value: Any) -> bool:
    """Does this name a set of the grammar?"""
    return isinstance(value, str) and value.startswith(PREFIX)


def read_name(files: str | Sequence[str]) -> Named:
    """What such a name says; it stands alone, since a set has both sides."""
    names = [files] if isinstance(files, str) else list(files)
    if len(names) > 1:
        raise InputError("a grammar set has both sides already", found=" and ".join(names), do=f"give only {names[0]}")
    name = names[0].removeprefix(PREFIX).partition(":")[0]
    if name not in SETS:
        raise UnknownNameError("grammar set", PREFIX + name, [PREFIX + known for known in SETS])
    match = NUMBERS.fullmatch(names[0].removeprefix(PREFIX + name))
    if match is None:
        raise InputError(
            "a set is asked for by name, count and seed",
            found=names[0],
            do=f"{PREFIX}{name}:1000, or {PREFIX}{name}:1000:7 for other sentences of the same kind",
        )
    count, seed = match.groups()
    return Named(name, int(count) if count else None, int(seed or 0))
