"""What makes a row unfit, and the sieve that all rows go through."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass

from regard.errors import InputError
from regard.text.corpora.report import REPAIRED, CorpusReport, excerpt
from regard.text.corpora.rows import RawRow

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
UNTRANSLATED = 0.2  # the share of pairs with equal sides that is worth a note
EMPTY_SIDE, EMPTY_LINE, OVERLONG = "empty side", "empty line", "overlong"
IN_VALIDATION = "also in the validation set"


@dataclass(frozen=True)
class Checks:
    """What is asked of every row."""

    fields: int = 2  # 2: pairs; 1: lines
    labelled: bool = False  # the second field is a label: its length and language are not looked at
    longest: int = 2000  # characters of a side beyond which a pair is dropped as overlong (lines are not); 0: no limit
    strict: bool = False  # any drop or repair is an error, at the first one
    swapped: bool = True  # refuse columns that look swapped, where `languages` are given
    blank_lines: bool = False  # with one field: keep empty lines, as language models want
    languages: tuple[str, str] | None = None  # ISO codes of source and target

    def __post_init__(self) -> None:
        if self.fields not in (1, 2):
            raise InputError("a row has one field or two", found=f"fields = {self.fields!r}", do="give 1 or 2")
        if self.longest < 0:
            raise InputError(
                "the longest side cannot be negative", found=f"longest = {self.longest}", do="give 0 for no limit"
            )


def digest(text: str) -> bytes:
    """A short name for a text, the same whatever its white space: texts of equal digests are duplicates."""
    return hashlib.blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def holds_control(text: str) -> bool:
    """Whether a text holds control characters; most are told to hold none by the faster question."""
    return not text.isprintable() and CONTROL.search(text) is not None


class Sieve:
    """Keeps rows or drops them, and says in the report which and why."""

    def __init__(self, checks: Checks, report: CorpusReport, unwanted: Collection[bytes] = ()) -> None:
        self.checks, self.report, self.unwanted = checks, report, unwanted
        self.equal = 0
        self.read_rows = 0  # rows, whatever became of them

    def sift(self, row: RawRow) -> tuple[str, ...] | None:
        """The texts of a row as they are used, or None if it is dropped."""
        self.read_rows += 1
        if row.problem:
            self.drop(row, row.problem)
            return None
        texts, repaired = row.texts, any(map(holds_control, row.texts))
        if repaired:
            texts = tuple(CONTROL.sub(" ", text) for text in texts)
        texts = tuple(text.strip() for text in texts)
        if reason := self.unfit(texts):
            self.drop(row, reason)
            return None
        if repaired:
            self.insist(row, REPAIRED)
            self.report.repair(row)
        self.report.usable += 1
        self.equal += len(texts) == 2 and texts[0] == texts[1]
        return texts

    def unfit(self, texts: tuple[str, ...]) -> str:
        """Why a row cannot be used; empty if it can."""
        checks = self.checks
        if not all(texts):
            if checks.fields == 2:
                return EMPTY_SIDE
            return "" if checks.blank_lines else EMPTY_LINE
        measured = texts[:1] if checks.labelled else texts
        if checks.fields == 2 and checks.longest and max(map(len, measured)) > checks.longest:
            return OVERLONG
        return IN_VALIDATION if self.unwanted and digest(texts[0]) in self.unwanted else ""

    def drop(self, row: RawRow, reason: str) -> None:
        """Leave a row out, or refuse to where nothing may be left out."""
        self.insist(row, reason)
        self.report.drop(row, reason)

    def insist(self, row: RawRow, reason: str) -> None:
        """Where checks are strict, any blemish is an error."""
        if self.checks.strict:
            raise InputError(
                f"{row.file}:{row.line}: {reason}",
                found=excerpt(row.texts) or "nothing",
                do="mend the file, or do without strict: then such rows are dropped or repaired, and counted",
            )

    def finish(self) -> None:
        """Note what only shows when all has been read."""
        usable = self.report.usable
        if self.checks.fields == 2 and not self.checks.labelled and self.equal > UNTRANSLATED * usable:
            share = self.equal / usable
            self.report.note(f"{share:.0%} of the pairs have equal sides: looks untranslated")
