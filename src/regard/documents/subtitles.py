"""Subtitles, SRT and WebVTT: cue by cue, with numbers, times and settings as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from regard.documents.guard import PROTECTED
from regard.documents.passages import Code, Edit, Part, Passage, Slice, fixed, for_html, passage, readable, words
from regard.documents.segments import mark, says_translated
from regard.documents.text_document import DocumentUnit, TextDocument
from regard.documents.xml_spans import same_language

LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
TIMING = re.compile(r"\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}\s*-->\s*(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}")
SPEAKER = re.compile(r"(?:<[^>]*>|\{[^}]*\})*[-–—]\s*")  # a line that begins with a dash is somebody else's
CODE = re.compile(r"</?[A-Za-z][^<>]*>|<\d[\d:.]*>|\{\\[^}]*\}")
HEADER_LANGUAGE = re.compile(r"^Language:[ \t]*(\S+)", re.MULTILINE)
NOT_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")
WIDE = 42  # letters of a line, as broadcasters set it


@dataclass(frozen=True)
class CueText(Passage):
    """What is shown at once, on one line or two."""

    line_end: str = "\n"

    def write(self, target: str, raw: Slice) -> str:
        return self.line_end.join(Passage.write(self, line, raw) for line in two_lines(target))


class Subtitles(TextDocument):
    """SRT: a number, times, text. It has no place to say that a machine translated it."""

    escape: Callable[[str], str] = staticmethod(str)
    read_text: Callable[[str], str] = staticmethod(str)

    def read_units(self) -> list[DocumentUnit]:
        is_open = self.is_open()
        return [
            DocumentUnit(one, f"cue {number}", translatable=is_open)
            for number, lines in enumerate(self.cues(), 1)
            for one in self.passages(lines)
        ]

    def is_open(self) -> bool:
        return True

    def cues(self) -> Iterator[list[re.Match[str]]]:
        """The lines of each cue's text: from its times to the next empty line."""
        lines: list[re.Match[str]] | None = None
        for match in LINE.finditer(self.file.text):
            if not match[1].strip():
                if lines:
                    yield lines
                lines = None
            elif lines is None:
                lines = [] if TIMING.match(match[1]) else None
            else:
                lines.append(match)

    def passages(self, lines: list[re.Match[str]]) -> Iterator[Passage]:
        """The text of a cue; where several speak, each by himself, on one line or on more."""
        turns = [number for number, line in enumerate(lines) if SPEAKER.match(line[1])]
        if len(turns) > 1 and turns[0] == 0:
            for first, behind in pairwise([*turns, len(lines)]):
                dash = SPEAKER.match(lines[first][1])
                assert dash is not None
                kind = Passage if behind == first + 1 else CueText
                yield from self.passage(lines[first].start(1) + dash.end(), lines[behind - 1].end(1), kind)
        elif lines:
            yield from self.passage(lines[0].start(1), lines[-1].end(1), CueText)

    def passage(self, start: int, end: int, kind: type[Passage]) -> Iterator[Passage]:
        one = passage(list(self.parts(start, end)), self.escape)
        if one is None:
            return
        if kind is CueText:
            yield CueText(one.parts, one.start, one.end, one.escape, self.file.line_end)
        else:
            yield one

    def parts(self, start: int, end: int) -> Iterator[Part]:
        text, at = self.file.text, start
        for match in CODE.finditer(text, start, end):
            yield from words(text[at : match.start()], at, self.flowing)
            yield Code(match[0], match.start(), match.end())
            at = match.end()
        yield from words(text[at:end], at, self.flowing)

    def flowing(self, raw: str) -> str:
        """Without the line ends, which are set anew."""
        return re.sub(r"\s*[\r\n]\s*", " ", self.read_text(raw))


class WebVtt(Subtitles):
    """As SRT, with entities, settings, notes and styles; a note says that a machine translated it."""

    escape = staticmethod(for_html)
    read_text = staticmethod(readable)

    def is_open(self) -> bool:
        language = self.header_language()
        known = language is not None and self.languages is not None
        there = known and same_language(language[1], self.languages.target)  # type: ignore[index,union-attr]
        return not there and not says_translated(self.file.text, self.languages)

    def header_language(self) -> re.Match[str] | None:
        return HEADER_LANGUAGE.search(self.file.text, 0, self.header_end())

    def header_end(self) -> int:
        """Where the first block ends, whose first line is WEBVTT."""
        match = re.search(r"(\r\n|\r|\n)[ \t]*(\r\n|\r|\n)", self.file.text)
        return match.start() if match else len(self.file.text)

    def marks(self) -> list[Edit]:
        end, at = self.file.line_end, self.header_end()
        note = fixed(at, at, f"{end}{end}NOTE {mark(self.languages)}")
        language = self.header_language()
        if language is None or self.languages is None:
            return [note]
        return [note, fixed(language.start(1), language.end(1), self.languages.target)]


def shown(text: str) -> str:
    """What is read of it."""
    return PROTECTED.sub("", text)


def two_lines(text: str) -> list[str]:
    """A text on one line if it fits, else on two that are as equal as words allow; never cut inside a tag."""
    if len(shown(text)) <= WIDE:
        return [text]
    tags = [match.span() for match in CODE.finditer(text)]
    cuts = [
        match.start() for match in re.finditer(" ", text) if not any(start < match.start() < end for start, end in tags)
    ]
    if not cuts:
        return [text]
    half = min(cuts, key=lambda cut: abs(len(shown(text[:cut])) - len(shown(text[cut + 1 :]))))
    return [text[:half], text[half + 1 :]]
