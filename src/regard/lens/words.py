"""Ids as the strings that stand beside a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Token = str | int
BROKEN = "�"  # what a part of a character is decoded to


@dataclass(frozen=True)
class Text:
    """The ids of each text of a batch, and their strings where a tokenizer or a file has them."""

    ids: list[list[int]]
    pad: int | None = None
    tokenizer: Any = None
    strings: list[list[str]] | None = None

    def tokens(self, batch: int = 0) -> list[Token]:
        """Strings with a tokenizer, else ids."""
        if self.strings is not None:
            return [*self.strings[batch]]
        if self.tokenizer is None:
            return [*self.ids[batch]]
        return [*strings(self.tokenizer, self.ids[batch])]

    def length(self, batch: int) -> int:
        """Without what fills up behind."""
        ids = self.ids[batch]
        last = next((place for place in reversed(range(len(ids))) if ids[place] != self.pad), len(ids) - 1)
        return last + 1

    def all_strings(self) -> list[list[str]] | None:
        """For files."""
        if self.strings is None and self.tokenizer is None:
            return None
        return [[str(token) for token in self.tokens(batch)] for batch in range(len(self.ids))]


def strings(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """What each id stands for: as it reads in a text, else its name in the vocabulary."""
    known = {number: string_of(tokenizer, number) for number in set(ids)}
    return [known[number] for number in ids]


def side_of(tokenizer: Any, side: Literal["source", "target"]) -> Any:
    """What reads and writes the texts of that side: some tokenizers are two, with ids of their own each."""
    if side == "source" and getattr(tokenizer, "separate_vocabs", False):  # transformers' Marian decodes targets only
        names = {number: token for token, number in tokenizer.encoder.items()}
        return lambda number: names.get(number, str(number)).replace("▁", " ")
    return getattr(tokenizer, side, tokenizer)


def string_of(tokenizer: Any, number: int) -> str:
    if hasattr(tokenizer, "decode"):
        text = str(tokenizer.decode([number]))
        if text and BROKEN not in text:
            return text
    if hasattr(tokenizer, "token_of"):
        return str(tokenizer.token_of(number) or number)
    if hasattr(tokenizer, "convert_ids_to_tokens"):
        return str(tokenizer.convert_ids_to_tokens(number) or number)
    return str(tokenizer(number)) if callable(tokenizer) else str(number)
