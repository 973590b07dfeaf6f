"""Documents that are text: passages are found once, and every other character stays as it is."""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regard.documents.passages import Edit, Passage, with_edits
from regard.documents.segments import Document, Languages, Segment, read_whole
from regard.documents.text_file import UTF_8, TextFile, decode


@dataclass(frozen=True)
class DocumentUnit:
    """A segment, and the passage it is made from."""

    passage: Passage
    place: str = ""
    target: str | None = None
    translatable: bool = True

    @property
    def segment(self) -> Segment:
        return Segment(self.passage.source, self.target, self.translatable, self.place)


class TextDocument(Document):
    """What a text format needs to say: which passages there are, and what else changes once some are filled in."""

    errors = "strict"  # how letters are written that the encoding lacks
    default_encoding = UTF_8

    def __init__(self, path: Path, languages: Languages | None = None, file: TextFile | None = None) -> None:
        """`file`: the text, where it was read already."""
        super().__init__(path, languages)
        self.file = file or decode(read_whole(path), path, self.declared_encoding, self.default_encoding)
        self.line_ends = [match.start() for match in re.finditer("\n", self.file.text)]
        self.units = self.read_units()
        self.read = [unit.segment for unit in self.units]

    @staticmethod
    def declared_encoding(start: bytes) -> str | None:
        """The encoding that the beginning of a file names."""
        return None

    @abstractmethod
    def read_units(self) -> list[DocumentUnit]:
        """The passages in the order in which people read them."""

    def marks(self) -> list[Edit]:
        """What else changes in a file with machine translations in it: a language, a note."""
        return []

    def place(self, at: int) -> str:
        """Where a position is, for people."""
        return f"line {bisect_left(self.line_ends, at) + 1}"

    def read_segments(self) -> list[Segment]:
        return self.read

    def filled(self) -> dict[int, str]:
        """What was filled in and is not there already: a passage that became itself is left alone."""
        units = self.units
        return {
            number: target
            for number, target in self.targets.items()
            if target != (units[number].target if self.bilingual else units[number].passage.source)
        }

    def edits(self) -> list[Edit]:
        """Each passage that was filled in, written anew."""
        return [
            Edit(passage.start, passage.end, partial(passage.write, target))
            for number, target in self.filled().items()
            for passage in [self.units[number].passage]
        ]

    def rendered(self) -> str:
        """The text with what was filled in; as it was if nothing was."""
        edits = self.edits()
        return with_edits(self.file.text, [*edits, *self.marks()] if edits else [])

    def render(self) -> bytes:
        return self.file.encode(self.rendered(), self.errors)
