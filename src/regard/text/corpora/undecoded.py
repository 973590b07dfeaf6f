"""Rows that are no text in the encoding they are read in: a few are dropped, many mean that it is another one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

from regard.errors import InputError
from regard.text.corpora.encoding import UTF_8, Likeness, is_utf_8, likeness
from regard.text.corpora.formats import SAYING, format_of
from regard.text.corpora.opening import lines
from regard.text.corpora.report import excerpt
from regard.text.corpora.rows import INVALID, RawRow

TOLERATED = 0.1  # the share of rows that may be unreadable: more would train on what happens to have no accents
FEW = 2  # so many are dropped and counted in any case
SAMPLE = 2000  # rows after which a file is judged for the first time
BEFORE = 20  # bytes shown before the first that is not ASCII
LINES = 200  # that are not UTF-8, of those that an encoding is guessed from


class Undecoded:
    """Counts in one file, or in two aligned ones, the rows that could not be decoded."""

    def __init__(self, group: tuple[Path, ...], encoding: str) -> None:
        self.group, self.encoding = group, encoding
        self.problem = INVALID if encoding == UTF_8 else f"invalid {encoding}"
        self.rows = self.bad = 0
        self.file = ""  # of the first

    def add(self, row: RawRow) -> None:
        """Look at one row; after SAMPLE of them, refuse a file that is in another encoding."""
        self.rows += 1
        if row.problem == self.problem:
            self.bad, self.file = self.bad + 1, self.file or row.file
        if self.rows == SAMPLE:
            self.refuse()

    def refuse(self) -> None:
        """Raise if too many rows are unreadable: what is left would be another text than the file's."""
        if self.bad > max(FEW, TOLERATED * self.rows) and (bad := self.lines()):
            one = likeness(bad)
            raise InputError(
                f"{self.bad:,} of {self.rows:,} rows of {self.file} are not {self.encoding.upper()}",
                found=looks(one, bad),
                do=remedy(one),
            )

    def refuse_one(self, row: RawRow) -> None:
        """Where no row may be left out, raise for a single one."""
        if row.problem == self.problem and (bad := self.lines()):
            one = likeness(bad)
            wrong = f"{row.file}:{row.line} is not {self.encoding.upper()}"
            raise InputError(wrong, found=looks(one, bad), do=remedy(one))

    def finish(self, note: Callable[[str], None]) -> None:
        """Judge the file as a whole, and note it if a few rows of it are unreadable."""
        self.refuse()
        if self.bad and (bad := self.lines()):
            one = likeness(bad)
            share = f"{self.bad:,} of {self.rows:,} rows of {self.file} are not {self.encoding.upper()}"
            note(f"{share}: {looks(one, bad)}; {remedy(one)}")

    def lines(self) -> list[bytes]:
        """Some lines as they are in the files; none where a row is unreadable for another reason, as in JSON."""
        if self.encoding != UTF_8:
            return [b""]
        if format_of(self.group[0]) in SAYING:
            return []
        unreadable = (line for path in self.group for line in lines(path) if not is_utf_8(line))
        return list(islice(unreadable, LINES))


def looks(one: Likeness | None, bad: list[bytes]) -> str:
    """What an encoding would make of the first line."""
    if one is None:
        return "it looks like no encoding that is known here" if bad[0] else "it is not that either"
    before = next(place for place, byte in enumerate(bad[0]) if byte > 127)
    start = bad[0].rfind(b" ", 0, max(before - BEFORE, 0)) + 1
    return f"this looks like {one.words}: {excerpt((bad[0][start:].decode(one.name, 'replace'),))}"


def remedy(one: Likeness | None) -> str:
    name = "NAME" if one is None else one.name
    return f'--encoding {name} reads it (in a recipe: encoding = "{name}")'
