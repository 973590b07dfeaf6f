"""Stretches of a text that become segments, and the text with translations in their place."""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.documents.guard import TAG, VOID, has_letters

ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9A-Fa-f]+|[A-Za-z]\w*);")
SPACE = " \t\r\n\f"  # what may be set anew; a space that does not break is text
EDGES = re.compile(f"([{SPACE}]*)(.*?)([{SPACE}]*)", re.DOTALL)
Slice = Callable[[int, int], str]  # what stands between two positions of the file, with translations in it


class Code(NamedTuple):
    """Something in a passage that is kept: how it stands in the segment, and where in the file."""

    token: str
    start: int
    end: int
    written: str | None = None  # what it becomes in a translation, if that is not what stands in the file


class Words(NamedTuple):
    """Text in a passage, as it is read and where it stands."""

    text: str
    start: int
    end: int


Part = Words | Code
Escape = Callable[[str], str]


@dataclass(frozen=True)
class Passage:
    """Parts of a file that lie beside each other, and where the translation goes: over them, unless told otherwise."""

    parts: Sequence[Part]
    start: int
    end: int
    escape: Escape = str  # from text to what the format writes for it

    @property
    def source(self) -> str:
        return "".join(part.text if isinstance(part, Words) else part.token for part in self.parts)

    def write(self, target: str, raw: Slice) -> str:
        """A translation as the format has it: its text escaped, its codes as they are in the file."""
        return "".join(
            self.escape(piece) if isinstance(piece, str) else piece.written or raw(piece.start, piece.end)
            for piece in self.pieces(target)
        )

    def pieces(self, target: str) -> list[str | Code]:
        """A translation as text and codes, each code of the source at most once."""
        codes: dict[str, list[Code]] = defaultdict(list)
        for part in self.parts:
            if isinstance(part, Code):
                codes[part.token].append(part)
        if not codes:
            return [target]
        pattern = re.compile("|".join(re.escape(token) for token in sorted(codes, key=len, reverse=True)))
        pieces: list[str | Code] = []
        at = 0
        for match in pattern.finditer(target):
            if codes[match[0]]:
                pieces += [target[at : match.start()], codes[match[0]].pop(0)]
                at = match.end()
        return [*pieces, target[at:]]


class Edit(NamedTuple):
    """Other text in place of what stands between two positions."""

    start: int
    end: int
    text: Callable[[Slice], str]


def fixed(start: int, end: int, text: str) -> Edit:
    """An edit that is known beforehand."""
    return Edit(start, end, lambda raw: text)


def with_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits. One that lies inside another is made where that other repeats its place."""
    ordered = sorted(edits, key=lambda edit: (edit.start, -edit.end))
    starts = [edit.start for edit in ordered]

    def raw(start: int, end: int) -> str:
        pieces, at = [], max(start, 0)
        for edit in ordered[bisect_left(starts, start) : bisect_right(starts, end)]:
            inside = start < edit.start < end if edit.start == edit.end else edit.end <= end
            if inside and edit.start >= at:
                pieces += [text[at : edit.start], edit.text(raw)]
                at = edit.end
        return "".join([*pieces, text[at:end]])

    return raw(-1, len(text) + 1)


def words(raw: str, start: int, read: Callable[[str], str] = str) -> list[Part]:
    """Text of a file as parts, the white space around it apart; `read` makes of them what people read."""
    match = EDGES.fullmatch(raw)
    assert match is not None
    return [
        Words(read(match[group]), start + match.start(group), start + match.end(group))
        for group in (1, 2, 3)
        if match[group]
    ]


def trimmed(parts: Sequence[Part]) -> list[Part]:
    """Without the white space, the lone codes and the pairs of tags that stand around all of the words."""
    rest = list(parts)
    while rest:
        if is_edge(rest[0]) or lacks_partner(rest[0], rest):
            del rest[0]
        elif is_edge(rest[-1]) or lacks_partner(rest[-1], rest):
            del rest[-1]
        elif len(rest) > 2 and encloses(rest):
            rest = rest[1:-1]
        else:
            return rest
    return rest


def is_edge(part: Part) -> bool:
    return stands_alone(part) if isinstance(part, Code) else not part.text.strip(SPACE)


def lacks_partner(part: Part, parts: Sequence[Part]) -> bool:
    """Whether a tag opens, or closes, what these parts do not close, or open."""
    match = TAG.fullmatch(part.token) if isinstance(part, Code) else None
    if match is None:
        return False
    wanted = match["name"], "" if match["end"] else "/"
    others = (TAG.fullmatch(other.token) for other in parts if isinstance(other, Code))
    return all(other is None or (other["name"], other["end"]) != wanted for other in others)


def stands_alone(code: Code) -> bool:
    match = TAG.fullmatch(code.token)
    return match is None or bool(match["empty"]) or (not match["end"] and match["name"].lower() in VOID)


def encloses(parts: Sequence[Part]) -> bool:
    """Whether the first part is a tag that the last one closes."""
    depth = 0
    for place, part in enumerate(parts):
        match = TAG.fullmatch(part.token) if isinstance(part, Code) else None
        if match is not None and not stands_alone(part):  # type: ignore[arg-type]
            depth += -1 if match["end"] else 1
        if depth <= 0:
            return place == len(parts) - 1 and match is not None
    return False


def passage(parts: Sequence[Part], escape: Escape = str) -> Passage | None:
    """What is to be translated in these parts, if there is any."""
    rest = trimmed(parts)
    if not rest or not has_letters("".join(part.text for part in rest if isinstance(part, Words))):
        return None
    return Passage(rest, rest[0].start, rest[-1].end, escape)


def readable(raw: str) -> str:
    """Text of HTML or XML as people read it: only what would look like a tag or an entity stays escaped."""
    return literal(ENTITY.sub(lambda match: html.unescape(match[0]), raw))


def literal(text: str) -> str:
    """Text as it stands in a segment with tags: what is neither tag nor entity does not look like one."""
    return re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;").replace(">", "&gt;")


def escaped(text: str) -> str:
    """The reverse: text for HTML or XML."""
    plain = ENTITY.sub(lambda match: html.unescape(match[0]), text)
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def for_html(text: str) -> str:
    """As `escaped`; a space that does not break is written so that it can be seen."""
    return escaped(text).replace("\xa0", "&nbsp;")
