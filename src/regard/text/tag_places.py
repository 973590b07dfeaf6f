"""Inline tags around words: taken off before a sentence is translated, and put around the words they belong to after.

A model reads `The <b>cat</b> sleeps.` best without the tags. Where its translation of "cat" alone stands in that of the
sentence, the tags go around it; else around the words at the same share of the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.text.protect import TAG, VOID, Span

ONLY_TAGS = re.compile(rf"(?:{re.sub('[?]P<[a-z]+>', '', TAG.pattern)})+")
WORD = re.compile(r"\S+")
MARKS = ".,;:!?…"


class TagPair(NamedTuple):
    """An opening tag, its closing one, and where in the text without tags its content begins and ends."""

    opening: str
    closing: str
    start: int
    stop: int


@dataclass(frozen=True)
class TaggedText:
    """A text without its tags, the spans that are left in it, and its pairs, each behind those around it."""

    text: str
    spans: tuple[Span, ...]
    pairs: tuple[TagPair, ...]

    @classmethod
    def of(cls, text: str, spans: Sequence[Span]) -> TaggedText | None:
        """None where there are no tags, or where they do not pair up around something."""
        left: list[Span] = []
        pairs: list[TagPair] = []
        open_pairs: list[int] = []
        plain, at = "", 0
        for span in spans:
            if not is_tags(span):
                plain += text[at : span.start]
                left.append(span._replace(start=len(plain), stop=len(plain) + span.stop - span.start))
                plain, at = plain + text[span.start : span.stop], span.stop
                continue
            start, stop = with_inner_spaces(text, span)
            plain, at = plain + text[at:start], stop
            for tag, match in tags_in(text[start:stop]):
                if not match["closing"]:
                    open_pairs.append(len(pairs))
                    pairs.append(TagPair(tag, "", len(plain), len(plain)))
                elif open_pairs and TAG.search(pairs[open_pairs[-1]].opening)["name"] == match["name"]:  # type: ignore[index]
                    number = open_pairs.pop()
                    pairs[number] = pairs[number]._replace(closing=tag, stop=len(plain))
                else:
                    return None
        plain += text[at:]
        if open_pairs or not pairs or not all(plain[pair.start : pair.stop].strip() for pair in pairs):
            return None
        return cls(plain, tuple(left), tuple(pairs))

    def contents(self) -> list[str]:
        """What stands inside each pair."""
        return [self.text[pair.start : pair.stop] for pair in self.pairs]

    def tag(self, translation: str, contents: Sequence[str]) -> str | None:
        """The translation with the tags in it; `contents` are translated by themselves. None where that cannot be."""
        positions: list[tuple[int, int]] = []
        for pair, content in zip(self.pairs, contents, strict=True):
            positions.append(self.place(pair, translation, content))
        if any(start == stop for start, stop in positions):
            return None
        for outer, inner in self.nested():
            start, stop = positions[inner]
            positions[outer] = min(positions[outer][0], start), max(positions[outer][1], stop)
        edges = []
        for number, (start, stop) in enumerate(positions):
            for other, (begin, end) in enumerate(positions[:number]):
                inside = (other, number) in self.nested()
                if not inside and start < end and begin < stop:
                    return None
            edges += [(start, 1, number, self.pairs[number].opening), (stop, 0, -number, self.pairs[number].closing)]
        parts, at = [], 0
        for position, _, _, tag in sorted(edges):
            parts += [translation[at:position], tag]
            at = position
        return "".join([*parts, translation[at:]])

    def nested(self) -> list[tuple[int, int]]:
        """Which pair stands inside which, the innermost first."""
        pairs = list(enumerate(self.pairs))
        inside = [(m, n) for m, a in pairs for n, b in pairs if m < n and a.start <= b.start and b.stop <= a.stop]
        return sorted(inside, key=lambda one: (-one[1], -one[0]))

    def place(self, pair: TagPair, translation: str, content: str) -> tuple[int, int]:
        """Where the content of a pair stands in the translation, as far as one can tell."""
        original = self.text[pair.start : pair.stop]
        wanted = pair.start / max(len(self.text), 1) * len(translation)
        for text in (content.strip(), original.strip()):
            bare = text.rstrip(MARKS) if original.strip()[-1:] not in MARKS else text
            matches = re.finditer(rf"(?i)(?<!\w){re.escape(bare)}(?!\w)", translation) if bare else ()
            if positions := [match.span() for match in matches]:
                return min(positions, key=lambda place: abs(place[0] - wanted))
        return by_share(self.text, (pair.start, pair.stop), translation)


def with_inner_spaces(text: str, span: Span) -> tuple[int, int]:
    """From where to where tags stand, with the white space inside them that would double the one outside."""
    start, stop = span.start, span.stop
    if span.fill.startswith("</") and text[stop : stop + 1].strip() == "":
        start = len(text[:start].rstrip())
    elif not span.fill.startswith("</") and text[:start][-1:].strip() == "":
        stop += len(text[stop:]) - len(text[stop:].lstrip())
    return start, stop


def tags_in(text: str) -> list[tuple[str, re.Match[str]]]:
    """The tags of such a place, each with the white space that belongs to it."""
    matches = list(TAG.finditer(text))
    edges = [0, *(match.end() for match in matches[:-1]), len(text)]
    return [(text[start:stop], match) for start, stop, match in zip(edges, edges[1:], matches, strict=False)]


def is_tags(span: Span) -> bool:
    """Whether a span is nothing but tags that stand around something."""
    if span.kind != "tag" or not ONLY_TAGS.fullmatch(span.fill):
        return False
    return not any(match["empty"] or match["name"].lower() in VOID for match in TAG.finditer(span.fill))


def by_share(source: str, place: tuple[int, int], target: str) -> tuple[int, int]:
    """The words of the target that stand where those of a place do in the source."""
    before, inside = (len(WORD.findall(text)) for text in (source[: place[0]], source[slice(*place)]))
    words = [match.span() for match in WORD.finditer(target)]
    if not words:
        return 0, 0
    share = len(words) / max(len(WORD.findall(source)), 1)
    first = min(round(before * share), len(words) - 1)
    last = min(max(round((before + inside) * share) - 1, first), len(words) - 1)
    start, stop = words[first][0], words[last][1]
    ends_in_mark = source[place[0] : place[1]].rstrip()[-1:] in MARKS
    trimmed = stop if ends_in_mark else start + len(target[start:stop].rstrip(MARKS))
    return start, max(trimmed, start)
