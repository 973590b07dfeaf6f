"""A text in sentences, English or French, with all that stands between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class SplitSentence(NamedTuple):
    """A sentence, and the white space behind it. In front of the first there may be white space behind nothing."""

    text: str
    space: str


LINE_END = "\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029"  # a tab as well: what it parts are cells
BREAK = re.compile(
    rf"(?P<marks>[.!?…]+)(?P<close>[\"'»”’)\]]*(?:[ \u00a0\u202f]»)?)(?P<space>\s+)"
    rf"|[。！？][\"'」』”’）]*(?P<none>\s*)|(?P<line>\s*[{LINE_END}]\s*)"
)
# Abbreviations: before a name, which end no sentence; before a number; and those that may end one before a capital.
TITLES = re.compile(
    r"mr|mrs|ms|dr|prof|ste?|m|mme|mlle|mm|mmes|mlles|mgr|gen|capt|sgt|lt|col|rev|hon|vs|cf|pr|sen|rep|e\.g|i\.e|c\.-à-d"
)
COUNTED = re.compile(r"nos?|nr|n°|pp?|figs?|vol|ch|chap|sec|art|al|eq|ed|tél|tel|par|env|approx|ca")
CLOSERS = re.compile(
    r"etc|inc|ltd|co|corp|jr|sr|dept|est|ave?|bros|a\.?m|p\.?m|apr|jan|feb|jun|jul|aug|sept?|oct|nov|dec"
)
STARTERS = re.compile(  # words that few names begin with, and many sentences
    r"the|an?|he|she|it|they|we|i|you|this|that|these|those|but|and|or|so|there|what|when|where|who|why|how|is|are|do|did|if|"
    r"in|on|at|as|ils?|elles?|je|tu|nous|vous|l[ae]?|les|une?|des|ce|cette|ces|mais|et|ou|donc|si|dans|à|au|en|puis|alors"
)
WORD = re.compile(r"[^\s(\[\"'«“‘’]+$")
NEXT = re.compile(r"[\"'«“‘(\[\s\u00a0¿¡]*(\w+)")


def split_sentences(text: str, protected: Sequence[tuple[int, int]] = ()) -> list[SplitSentence]:
    """The sentences of a text in order; put together again, with their white space, they are the text.

    No sentence ends inside of what is `protected`, given by start and stop. Every end of a line ends one.
    """
    casual = not any(char.isupper() for char in text)
    sentences: list[SplitSentence] = []
    start, spans = 0, iter([*protected, (len(text), len(text))])
    begin, end = next(spans)
    for match in BREAK.finditer(text):
        space = match.start(match.lastgroup or 0)
        while end <= match.start() < len(text):
            begin, end = next(spans)
        if begin < match.end() and match.start() < end:
            space = max(space, end) if end < match.end() and match["line"] is not None else -1
        if space < 0 or (match["marks"] and not is_end(text, start, match, casual)):
            continue
        if space > start or not sentences:
            sentences.append(SplitSentence(text[start:space], text[space : match.end()]))
            start = match.end()
    if start < len(text):
        sentences.append(SplitSentence(text[start:], ""))
    return sentences


def is_end(text: str, start: int, match: re.Match[str], casual: bool) -> bool:
    """Whether a sentence ends with these marks. `casual`: nobody who writes so cares for capitals."""
    following = NEXT.match(text, match.end())
    first = following[1] if following else ""
    if first[:1].islower() and not casual:
        return match["marks"][-1] in "!?" and not match["close"]
    if match["marks"] != ".":
        return True
    word = WORD.search(text, max(start, match.start() - 40), match.start())
    token = word[0] if word else ""
    return not joins_next(token, first, text[start : match.start()])


def joins_next(token: str, first: str, before: str) -> bool:
    """Whether a full stop behind this token belongs to an abbreviation, an initial or a number in front of a line."""
    lower = token.lower().rstrip(".")
    if token == before.strip() and re.fullmatch(r"\d{1,3}|[A-Za-z]|[ivxIVX]{1,4}", token):
        return True  # 1. or a. in front of a line
    if TITLES.fullmatch(lower):
        return True
    if COUNTED.fullmatch(lower):
        return first[:1].isdigit()
    if CLOSERS.fullmatch(lower):
        return not first[:1].isupper()
    if re.fullmatch(r"(?:\w\.-?)*\w", token) and token[-1:].isalpha() and (token[-1:].isupper() or "." in token):
        return not STARTERS.fullmatch(first.lower())  # J. Smith, the U.S. Congress; but: in the U.S. She ...
    return False
