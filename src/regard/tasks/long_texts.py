"""Texts longer than a model can read: split where sentences end, or refused with a number; never cut silently."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from regard.errors import FileError, InputError
from regard.text.sentences import split_sentences
from regard.text.tokenizer import Codec

LONG = ("split", "refuse")
Break = Callable[[str], list[str]]  # a text cut in parts, of which nothing is lost
LANGUAGE = re.compile(r">>[^<>\s]+<<\s*")  # in front of a text for a model of many languages
WINDOW = 16  # characters looked at for each token that fits: hardly any token has more


class TooLongError(InputError):
    """A text that is longer than the model can read, where splitting was not wanted. `number` counts from 1."""

    def __init__(self, number: int, tokens: int, longest: int, text: str, *, what: str = "text") -> None:
        self.number, self.tokens, self.longest, self.text = number, tokens, longest, text
        super().__init__(
            f"{what} {number} is longer than this model can read",
            found=f"{tokens:,} tokens, where at most {longest:,} fit: {text.strip()[:50]!r}...",
            do='have it split (long="split", or --long split), or shorten it',
        )


def recipe_of(folder: Path) -> dict[str, Any]:
    """The recipe.toml of a folder; empty where there is none."""
    path = folder / "recipe.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"cannot read {path}", found=str(error), do="restore it, or remove it") from error


def trained_longest(folder: Path) -> int | None:
    """`longest` under [data] of a folder's recipe.toml: the most tokens of a text that the model was trained on."""
    data = recipe_of(folder).get("data", {})
    longest = data.get("longest") if isinstance(data, dict) else None
    if longest is not None and (not isinstance(longest, int) or isinstance(longest, bool) or longest < 1):
        path = folder / "recipe.toml"
        raise FileError(f"longest in {path} must be a number of tokens", found=f"{longest!r}", do="128 is usual")
    return longest


def split(text: str, tokenizer: Codec, longest: int) -> list[str]:
    """The text in pieces of at most so many tokens, in order; together they hold every word of it.

    The code of a language in front, such as >>fr<<, is put in front of every piece.
    """
    code = LANGUAGE.match(text)
    front = code[0] if code and tokenizer.id_of(code[0].strip()) is not None else ""
    pieces = Splitter(tokenizer, longest, front).pieces(text[len(front) :], BREAKS)
    return [front + piece for piece in pieces]


@dataclass(frozen=True)
class Splitter:
    """How long pieces may be, and what comes in front of each."""

    tokenizer: Codec
    longest: int
    front: str = ""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(row) for row in self.tokenizer.encode([self.front + text.strip() for text in texts])]

    def pieces(self, text: str, breaks: Sequence[Break]) -> Iterator[str]:
        """Split at the best kind of break, and what is still too long at the next."""
        if not breaks:
            yield from self.by_characters(text)
            return
        for group in self.groups(breaks[0](text)):
            yield from self.fit(group, breaks[1:])

    def groups(self, all_parts: list[str]) -> Iterator[list[str]]:
        """Neighbours together, as many as should fit by the sum of their lengths."""
        around, *lengths = self.lengths(["", *all_parts])
        group: list[str] = []
        room = self.longest - around
        for part, length in zip(all_parts, lengths, strict=True):
            if group and length - around > room:
                yield group
                group, room = [], self.longest - around
            group.append(part)
            room -= length - around
        yield group

    def fit(self, group: list[str], finer: Sequence[Break]) -> Iterator[str]:
        """The group as one piece if it does fit: tokens of a whole are not always the sum of those of its parts."""
        text = "".join(group).strip()
        if not text:
            return
        if self.lengths([text])[0] <= self.longest:
            yield text
        elif len(group) > 1:
            middle = len(group) // 2
            yield from self.fit(group[:middle], finer)
            yield from self.fit(group[middle:], finer)
        else:
            yield from self.pieces(text, finer)

    def by_characters(self, text: str) -> Iterator[str]:
        """One word that is too long: as many characters at a time as fit."""
        start = 0
        while start < len(text):
            end = self.reach(text, start)
            yield text[start:end]
            start = end

    def reach(self, text: str, start: int) -> int:
        """Where the longest piece from here ends; an accent stays with its letter."""
        ends = range(start + 1, min(len(text), start + WINDOW * self.longest) + 1)
        fitting = bisect_left(ends, True, key=lambda end: self.lengths([text[start:end]])[0] > self.longest)
        if not fitting:
            raise InputError(
                "not even one character fits into what this model can read",
                found=f"{text[start]!r} has {self.lengths([text[start]])[0]} tokens, where {self.longest} fit",
                do="raise longest under [data] in its recipe.toml",
            )
        end = ends[fitting - 1]
        while end > start + 1 and end < len(text) and unicodedata.combining(text[end]):
            end -= 1
        return end


def sentences(text: str) -> list[str]:
    """The text cut behind every sentence."""
    return ["".join(sentence) for sentence in split_sentences(text)]


def parts(at: re.Pattern[str], text: str) -> list[str]:
    """The text cut behind every break."""
    ends = [match.end() for match in at.finditer(text)]
    return [part for first, last in zip([0, *ends], [*ends, len(text)], strict=True) if (part := text[first:last])]


# Where to split, best first: after sentences, after clauses, between words. What is left is split by characters.
BREAKS: tuple[Break, ...] = (
    sentences,
    partial(parts, re.compile(r"[;:,]\s+|[；：，、]\s*")),
    partial(parts, re.compile(r"\s+")),
)
