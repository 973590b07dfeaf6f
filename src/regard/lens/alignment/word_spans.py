"""Which tokens belong to which word: by the characters they stand for, whatever the tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from regard.errors import InputError
from regard.lens.recording.tokens import BROKEN, Text, as_read, string_of

Split = Callable[[str], Sequence[str]]
Span = tuple[int, int]  # of characters, (start, stop)
Spans = Sequence[Span | None]  # of tokens; None for one that is no part of the text
UNKNOWN = "<unk>"
NAMED = re.compile(r"<[^<>\s]*>|\[[A-Z]+\]")  # how special tokens are written where only strings are known


@dataclass(frozen=True)
class WordTokens:
    """The words of a text, and for each token the number of its word; -1 for a token of none."""

    words: tuple[str, ...]
    owners: tuple[int, ...]

    def after(self, before: int) -> WordTokens:
        """The same with so many tokens before the first: a decoder's start."""
        return replace(self, owners=(-1,) * before + self.owners)


def words_of(spans: Spans, text: str, words: Split | Sequence[str] | None = None) -> WordTokens:
    """Words are split at white space, or as a function says, or are given."""
    given = text.split() if words is None else tuple(words(text)) if callable(words) else tuple(words)
    return WordTokens(tuple(given), tuple(owners(spans, spans_of(text, given))))


def spans_of(text: str, words: Sequence[str]) -> list[Span]:
    """Where each word stands in the text, one after the other."""
    spans: list[Span] = []
    start, lower = 0, text.lower()
    for word in words:
        begin = text.find(word, start)
        if begin < 0 and len(lower) == len(text):
            begin = lower.find(word.lower(), start)
        if begin < 0:
            raise InputError(
                "these are not the words of the text",
                found=f"no {word!r} in {text[start : start + 40]!r}",
                do="split the text without changing its characters",
            )
        start = begin + len(word)
        spans.append((begin, start))
    return spans


def owners(spans: Spans, word_spans: Sequence[Span]) -> list[int]:
    """For each token the word with which it shares most characters, or that begins where it ends; -1 for none."""
    numbers: list[int] = []
    first = 0  # both run through the text in order
    for span in spans:
        while span and first < len(word_spans) and word_spans[first][1] <= span[0]:
            first += 1
        numbers.append(owner(span, word_spans, first) if span else -1)
    return numbers


def owner(span: Span, word_spans: Sequence[Span], first: int) -> int:
    best, most = -1, 0
    for number in range(first, len(word_spans)):
        start, stop = word_spans[number]
        shared = min(span[1], stop) - max(span[0], start)
        if shared > most or (shared == 0 and best < 0 and start == span[1]):
            best, most = number, shared
        if start >= span[1]:
            break
    return best


def written(text: Text, batch: int) -> tuple[str, list[Span | None]]:
    """A text of a batch as it reads, and where each of its tokens stands in it."""
    ids = text.ids[batch]
    if text.strings is None and hasattr(text.tokenizer, "decode"):
        decoding = decoded(text.tokenizer, ids)
    else:
        decoding = joined(as_read([str(token) for token in text.tokens(batch)]))
    return decoding[0], [None if number == text.pad else span for number, span in zip(ids, decoding[1], strict=True)]


def joined(tokens: Sequence[str]) -> tuple[str, list[Span | None]]:
    """Strings put together: they bring their white space along, or each is a word."""
    between = "" if any(token != token.strip() for token in tokens) else " "
    text = ""
    spans: list[Span | None] = []
    for token in tokens:
        if NAMED.fullmatch(token):
            spans.append(None)
            continue
        if not token and spans:  # a later part of the character before it
            spans.append(spans[-1])
            continue
        text += between if text else ""
        spans.append((len(text), len(text) + len(token)))
        text += token
    return text, spans


def decoded(tokenizer: Any, ids: Sequence[int]) -> tuple[str, list[Span | None]]:
    """What some ids say, and where each stands in it.

    A token's characters are what it adds to those just before it: so it brings its space along, and one that is only a
    part of a character belongs to where the whole character stands.
    """
    strings = {number: says(tokenizer, number) for number in set(ids)}
    positions = [position for position, number in enumerate(ids) if strings[number]]
    text = ""
    spans: list[Span | None] = [None] * len(ids)
    known: list[int] = []  # the last ids whose characters are known
    waiting: list[int] = []  # positions of those after them
    for position in positions:
        waiting.append(position)
        new = [ids[one] for one in waiting]
        unknown = strings[ids[position]] == UNKNOWN
        piece = UNKNOWN if unknown else added(tokenizer, known, new)
        piece = f" {piece}" if text and (unknown or not known) else piece
        if not piece or (piece.endswith(BROKEN) and position != positions[-1]):
            continue
        for one in waiting:
            spans[one] = (len(text), len(text) + len(piece))
        text, known, waiting = text + piece, known if unknown else new, []
    return text, spans


def says(tokenizer: Any, number: int) -> str:
    """What an id says by itself; nothing if it is special, unless it stands for what is not known."""
    text = decode(tokenizer, [number])
    if text:
        return text
    name = string_of(tokenizer, number).replace("▁", " ")
    if name.isspace():
        return name  # a space by itself, which sentencepiece leaves out
    return UNKNOWN if "unk" in name.lower() and NAMED.fullmatch(name) else ""


def added(tokenizer: Any, known: list[int], new: list[int]) -> str:
    """What some ids add to those before them."""
    before, both = decode(tokenizer, known), decode(tokenizer, known + new)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, both, strict=False)))
    return both[shared:]


def decode(tokenizer: Any, ids: list[int]) -> str:
    """A text without special tokens, its spaces as they are."""
    if hasattr(tokenizer, "convert_ids_to_tokens"):  # Hugging Face's
        return str(tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False))
    return str(tokenizer.decode(ids))
