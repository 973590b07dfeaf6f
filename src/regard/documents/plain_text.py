"""Plain text: paragraphs stay paragraphs, lines stay lines."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from regard.documents.guard import has_letters
from regard.documents.passages import Passage, Slice, Words
from regard.documents.text_document import DocumentUnit, TextDocument

LINE = re.compile(r"([ \t]*)([^\r\n]*?)([ \t]*)(\r\n|\r|\n|\Z)")
NARROW = 40  # letters: lines that are shorter are no wrapped paragraph


@dataclass(frozen=True)
class Paragraph(Passage):
    """Lines that somebody wrapped: they are wrapped again at the same width."""

    width: int = 0
    before: str = ""  # each further line
    line_end: str = "\n"

    def write(self, target: str, raw: Slice) -> str:
        lines = textwrap.wrap(target, self.width, break_long_words=False, break_on_hyphens=False)
        return f"{self.line_end}{self.before}".join(lines)


class PlainText(TextDocument):
    """Text without any markup. It has no place to say that a machine translated it."""

    def read_units(self) -> list[DocumentUnit]:
        return [
            DocumentUnit(one, self.place(one.start))
            for lines in self.blocks()
            for one in self.passages(lines)
            if has_letters(one.source)
        ]

    def blocks(self) -> Iterator[list[re.Match[str]]]:
        """Lines between two empty ones."""
        lines: list[re.Match[str]] = []
        for match in LINE.finditer(self.file.text):
            if match[2]:
                lines.append(match)
            else:
                yield lines
                lines = []
        yield lines

    def passages(self, lines: list[re.Match[str]]) -> Iterator[Passage]:
        if is_wrapped(lines):
            text = " ".join(line[2] for line in lines)
            start, end = lines[0].start(2), lines[-1].end(2)
            width, before = max(len(line[2]) for line in lines), lines[-1][1]
            yield Paragraph([Words(text, start, end)], start, end, str, width, before, self.file.line_end)
            return
        for line in lines:
            yield Passage([Words(line[2], line.start(2), line.end(2))], line.start(2), line.end(2))


def is_wrapped(lines: list[re.Match[str]]) -> bool:
    """Whether a block is one paragraph: no line could take another word, and the left edge is even from the second."""
    width = max((len(line[2]) for line in lines), default=0)
    return (
        len(lines) > 1
        and width >= NARROW
        and len({line[1] for line in lines[1:]}) == 1
        and all(len(line[2]) + 1 + len(following[2].split()[0]) > width for line, following in pairwise(lines))
    )
