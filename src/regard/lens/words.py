"""Ids as the strings that stand beside a map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
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
    text = str(tokenizer.decode([number])) if hasattr(tokenizer, "decode") else ""
    if text and BROKEN not in text:
        return text
    name = name_of(tokenizer, number)
    return spelled(name) if text else name


def name_of(tokenizer: Any, number: int) -> str:
    for method in ("token_of", "convert_ids_to_tokens"):
        if hasattr(tokenizer, method):
            return str(getattr(tokenizer, method)(number) or number)
    return str(tokenizer(number)) if callable(tokenizer) else str(number)


@cache
def alphabet() -> dict[str, int]:
    """The bytes behind the letters of byte-level tokenizers: visible ones are themselves, the others from 256 on."""
    visible = [byte for byte in range(256) if chr(byte).isprintable() and byte != ord(" ")]
    others = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + place): byte for place, byte in enumerate(others)}


def spelled(name: str) -> str:
    """A token that holds a part of a character: its bytes as ⟨E6⟩, where its name stands for bytes."""
    name = re.sub("<0x([0-9A-F]{2})>", r"⟨\1⟩", name)  # as sentencepiece writes them
    if not all(letter in alphabet() for letter in name):
        return name
    text = bytes(alphabet()[letter] for letter in name).decode("utf-8", errors="surrogateescape")
    return re.sub("[\udc80-\udcff]", lambda part: f"⟨{ord(part[0]) - 0xDC00:02X}⟩", text)


def read_bytes(text: str, between: str) -> str:
    """Tokens put together, with `between` them: the bytes of whole characters are those characters again."""
    byte = "⟨[0-9A-F]{2}⟩"
    return re.sub(
        f"{byte}(?:(?:{between})?{byte})*",
        lambda found: bytes.fromhex(re.sub("[⟨⟩]", " ", found[0])).decode("utf-8", errors="replace"),
        text,
    )
