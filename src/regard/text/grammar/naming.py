"""How a set of the built-in language is named where a file could stand: "grammar:test", "grammar:train:20000"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.errors import InputError, UnknownNameError
from regard.text.grammar.sentence import Sentence
from regard.text.grammar.sets import SETS, sentences

PREFIX = "grammar:"


@dataclass(frozen=True)
class Named:
    """A set, and how many of its sentences; None: as many as it has."""

    name: str
    count: int | None = None

    def sentences(self, most: int | None = None) -> list[Sentence]:
        """Its sentences, or the first so many."""
        counts = [count for count in (self.count, most) if count is not None]
        return sentences(self.name, min(counts) if counts else None)


def is_grammar(value: Any) -> bool:
    """Does this name a set of the grammar?"""
    return isinstance(value, str) and value.startswith(PREFIX)


def read_name(files: str | Sequence[str]) -> Named:
    """What such a name says; it stands alone, since a set has both sides."""
    names = [files] if isinstance(files, str) else list(files)
    if len(names) > 1:
        raise InputError("a grammar set has both sides already", found=" and ".join(names), do=f"give only {names[0]}")
    name, colon, count = names[0].removeprefix(PREFIX).partition(":")
    if name not in SETS:
        raise UnknownNameError("grammar set", PREFIX + name, [PREFIX + known for known in SETS])
    if colon and not (count.isdecimal() and int(count)):
        raise InputError("a set is asked for by name and count", found=names[0], do=f"{PREFIX}{name}:1000")
    return Named(name, int(count) if colon else None)
