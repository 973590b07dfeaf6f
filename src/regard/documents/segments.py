"""A file that people translate, as a list of segments: what every format has in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from regard.errors import FileError, InputError

TOOL = "regard"
MADE_BY = f"Machine translation ({TOOL})"  # what a file says of itself, in whatever way its format has for it


class Languages(NamedTuple):
    """From which language to which, as codes: en, fr, pt-BR."""

    source: str
    target: str


@dataclass(frozen=True)
class Segment:
    """A sentence, a paragraph or a label: what is translated as one.

    Tags and placeholders stand in the text as they are in the file, or as short tags of our own where the file's would
    say nothing to a translator.
    """

    source: str
    target: str | None = None  # its translation, as far as there is one
    translatable: bool = True  # whether it may be filled in at all
    place: str = ""  # where it stands, for people: line 12, cue 3

    @property
    def is_open(self) -> bool:
        """Whether it waits for a translation."""
        return self.translatable and self.target is None


class Document(ABC):
    """A file whose segments can be read and filled in; everything else in it stays as it is."""

    bilingual = False  # whether the file holds the source and its translation side by side

    def __init__(self, path: Path, languages: Languages | None = None) -> None:
        self.path, self.languages = path, languages
        self.targets: dict[int, str] = {}  # what was filled in, by the segment's number

    @abstractmethod
    def read_segments(self) -> list[Segment]:
        """The segments as the file has them."""

    @abstractmethod
    def render(self) -> bytes:
        """The file with what was filled in."""

    def segments(self) -> list[Segment]:
        """All of them in order, with what was filled in."""
        return [
            replace(segment, target=self.targets.get(number, segment.target))
            for number, segment in enumerate(self.read_segments())
        ]

    def fill(self, index: int, target: str) -> None:
        """Give a segment its translation, whose tags and placeholders are those of the source."""
        segments = self.read_segments()
        if not 0 <= index < len(segments) or not segments[index].translatable:
            raise InputError(
                f"segment {index} cannot be filled in", found=f"{len(segments)} segments", do="take a translatable one"
            )
        self.targets[index] = target

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all; never over the one that was read."""
        path = Path(path)
        if path.exists() and path.samefile(self.path):
            raise FileError(
                f"{path} is the file that is translated", do="give --out another name: it is never written over"
            )
        write_whole(path, self.render())


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the file, then take its place in one move: nobody ever reads half of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot write {path}", found=error.strerror or str(error), do="choose another place, or make room"
        ) from error


def read_whole(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(
            f"{path} cannot be read", found=error.strerror or str(error), do="give a file that is there"
        ) from error


def says_translated(text: str, languages: Languages | None) -> bool:
    """Whether a file's own mark says that it was translated into this language."""
    return f"{MADE_BY}: " in text and (languages is None or f"{MADE_BY}: {mark_words(languages)}" in text)


def mark(languages: Languages | None) -> str:
    """What a file says of itself once it was translated."""
    return f"{MADE_BY}: {mark_words(languages) if languages else 'not reviewed'}"


def mark_words(languages: Languages) -> str:
    return f"{languages.source} to {languages.target}"
