"""Ids as the strings that stand beside a map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, Literal

from regard.text.characters import characters

Token = str | int
Row = Literal["output", "input"]  # whose row it is: of the token that it writes, or of the one that it read
NEXT = "(next)"  # stands for a token that was never read, and that nobody told
BROKEN = "�"  # what a part of a character is decoded to
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
FALLBACK = re.compile("<0x([0-9A-F]{2})>")  # as sentencepiece writes a byte


@dataclass(frozen=True)
class Text:
    """The ids of each text of a batch, and their strings where a tokenizer or a file has them."""

    ids: list[list[int]]
    pad: int | None = None
    tokenizer: Any = None
    strings: list[list[str]] | None = None
    after: list[Token | None] | None = None  # what follows each text: written, but not read again

    def tokens(self, batch: int = 0) -> list[Token]:
        """Strings with a tokenizer, else ids."""
        if self.strings is not None:
            return [*self.strings[batch]]
        if self.tokenizer is None:
            return [*self.ids[batch]]
        return [*strings(self.tokenizer, self.ids[batch])]

    def written(self, batch: int = 0, end: int | None = None) -> list[Token]:
        """What the row of each token writes: the token after it; of the last one what follows, or `NEXT`.

        `end` is how many tokens there are without padding, where the model's mask says it better than the ids.
        """
        end, after = end or self.length(batch), None if self.after is None else self.after[batch]
        if isinstance(after, int) and self.strings is None and self.tokenizer is not None:
            whole: list[Token] = [*strings(self.tokenizer, [*self.ids[batch][:end], after])]
        else:
            whole = [*self.tokens(batch)[:end], NEXT if after is None else after]
        return [*whole[1:], *self.tokens(batch)[end:]]

    def length(self, batch: int) -> int:
        """Without what fills up behind."""
        ids = self.ids[batch]
        last = next((place for place in reversed(range(len(ids))) if ids[place] != self.pad), len(ids) - 1)
        return last + 1

    def all_after(self) -> list[Token | None] | None:
        """For files."""
        if self.after is None:
            return None
        ends = (self.written(batch)[self.length(batch) - 1] for batch in range(len(self.ids)))
        return [None if end == NEXT else end for end in ends]

    def all_strings(self) -> list[list[str]] | None:
        """For files."""
        if self.strings is None and self.tokenizer is None:
            return None
        return [[str(token) for token in self.tokens(batch)] for batch in range(len(self.ids))]


def strings(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """What each id stands for: as it reads in a text, else its name in the vocabulary.

    A tokenizer of bytes may spread one character, as a reader sees it, over several tokens: an emoji, a letter and its
    accent. Then each of them shows the whole character and which part of it it is, as in 🙂₁ 🙂₂ or in 日 本₁ 本₂語.
    Bytes that make no character are shown as ⟨E6⟩.
    """
    known = {number: piece_of(tokenizer, number) for number in set(ids)}
    shown: list[str] = []
    waiting: list[bytes] = []
    for number in ids:
        piece = known[number]
        if isinstance(piece, bytes):
            waiting.append(piece)
        else:
            shown += [*shared_out(waiting), piece]
            waiting = []
    return shown + shared_out(waiting)


def shared_out(pieces: Sequence[bytes]) -> list[str]:
    """The characters of a text, given to the tokens that its bytes are cut into."""
    shown, ends = [""] * len(pieces), list(accumulate(map(len, pieces)))
    start = first = 0
    for character in characters(b"".join(pieces).decode("utf-8", errors="surrogateescape")):
        stop = start + len(character.encode("utf-8", errors="surrogateescape"))
        while ends[first] <= start:
            first += 1
        last = first
        while ends[last] < stop:
            last += 1
        for part, place in enumerate(range(first, last + 1), start=1):
            shown[place] += spelled(character) + (str(part).translate(SUBSCRIPTS) if last > first else "")
        start = stop
    return shown


def as_read(tokens: Sequence[str]) -> list[str]:
    """What each token adds to a text: a character in parts stands with the first of them."""
    shown = list(tokens)
    for place in reversed(range(1, len(tokens))):
        begun = re.match("(.+?)([₁₂₃₄₅₆₇₈₉][₀-₉]*)", tokens[place], flags=re.DOTALL)
        if begun is None:
            continue
        character, part = begun[1], int(begun[2].translate(DIGITS))
        if part > 1 and tokens[place - 1].endswith(character + str(part - 1).translate(SUBSCRIPTS)):
            shown[place] = shown[place].removeprefix(begun[0])
            if part == 2:
                shown[place - 1] = shown[place - 1].removesuffix("₁")
    return shown


def side_of(tokenizer: Any, side: Literal["source", "target"]) -> Any:
    """What reads and writes the texts of that side: some tokenizers are two, with ids of their own each."""
    if side == "source" and getattr(tokenizer, "separate_vocabs", False):  # transformers' Marian decodes targets only
        names = {number: token for token, number in tokenizer.encoder.items()}
        return lambda number: names.get(number, str(number)).replace("▁", " ")
    return getattr(tokenizer, side, tokenizer)


def string_of(tokenizer: Any, number: int) -> str:
    """An id by itself."""
    return strings(tokenizer, [number])[0]


def piece_of(tokenizer: Any, number: int) -> str | bytes:
    """What an id brings to a text, as bytes; its name, if it brings nothing."""
    text = str(tokenizer.decode([number])) if hasattr(tokenizer, "decode") else ""
    if text and BROKEN not in text:
        return text.encode("utf-8", errors="replace")
    name = name_of(tokenizer, number)
    return bytes_of(name) if text else name


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


def bytes_of(name: str) -> bytes:
    """What the name of a token that holds a part of a character stands for."""
    if fallback := FALLBACK.fullmatch(name):
        return bytes.fromhex(fallback[1])
    if all(letter in alphabet() for letter in name):
        return bytes(alphabet()[letter] for letter in name)
    return name.encode("utf-8", errors="replace")


def spelled(character: str) -> str:
    """A byte that is no character as ⟨E6⟩."""
    return re.sub("[\udc80-\udcff]", lambda part: f"⟨{ord(part[0]) - 0xDC00:02X}⟩", character)


def read_bytes(text: str, between: str) -> str:
    """Tokens put together, with `between` them: the bytes of whole characters are those characters again."""
    byte = "⟨[0-9A-F]{2}⟩"
    return re.sub(
        f"{byte}(?:(?:{between})?{byte})*",
        lambda match: bytes.fromhex(re.sub("[⟨⟩]", " ", match[0])).decode("utf-8", errors="replace"),
        text,
    )
