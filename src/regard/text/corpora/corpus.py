"""A corpus: sources, read in order, checked, and accounted for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path

from regard.errors import FileError, InputError
from regard.text.corpora.checks import OVERLONG, Checks, Sieve
from regard.text.corpora.columns import spelled
from regard.text.corpora.formats import format_of, read
from regard.text.corpora.line_counts import check_counts
from regard.text.corpora.names import groups_of, shown
from regard.text.corpora.report import CorpusReport
from regard.text.corpora.rows import COLUMNS, INVALID, CorpusRow, ReadOptions
from regard.text.corpora.source import Source
from regard.text.corpora.swapped import Sides
from regard.text.corpora.undecoded import SAMPLE, Undecoded

DEFAULT = Checks()
OTHERS = "name columns that the rows have: numbers count from 0"
REMEDIES = {
    COLUMNS: f"put a tab between the two sides, or say which columns to read: {spelled([0, 1])}, or their names",
    INVALID: 'say which encoding it is in: --encoding NAME (in a recipe: encoding = "NAME")',
    OVERLONG: "break the rows up, or allow longer ones",
}


class Corpus:
    """The rows of some sources, one after the other: each kept row once, in the order of the files."""

    def __init__(
        self,
        sources: Sequence[Source],
        base: Path = Path(),
        checks: Checks = DEFAULT,
        unwanted: Collection[bytes] = (),
    ) -> None:
        self.sources, self.base, self.checks = tuple(sources), Path(base), checks
        self.unwanted = frozenset(unwanted)  # digests of first texts that must not occur, such as those of validation
        self.report = CorpusReport()  # filled while iterating
        if not self.sources:
            raise InputError("a corpus needs a source", found="none", do="name at least one file")
        for source in self.sources:
            fits(source, checks.fields)

    def __iter__(self) -> Iterator[CorpusRow]:
        self.report = CorpusReport()
        return self._rows(Sieve(self.checks, self.report, self.unwanted))

    def check(self, sample: int = SAMPLE) -> list[str]:
        """Look at every file before long work begins: it opens, its columns are right, aligned files are as long.

        Gives back what people should know of them.
        """
        notes: list[str] = []
        for number, source in enumerate(self.sources):
            sieve = Sieve(self.checks, CorpusReport())
            for group in groups_of(source.files, self.base):
                self._look(number, group, sample, sieve)
                if len(group) == 2:
                    names = shown(group[0], self.base), shown(group[1], self.base)
                    check_counts((group[0], group[1]), names, source.encoding)
            if not sieve.report.usable:
                raise nothing_kept([source], sieve.report)
            notes += sieve.report.notes
        return notes

    def fingerprint(self) -> dict[str, str]:
        """The digest of every file's bytes, by its name relative to the base folder."""
        paths = [path for source in self.sources for group in groups_of(source.files, self.base) for path in group]
        return {shown(path, self.base): file_digest(path) for path in dict.fromkeys(paths)}

    def _rows(self, sieve: Sieve) -> Iterator[CorpusRow]:
        report = sieve.report
        for number, source in enumerate(self.sources):
            before = report.usable
            for group in groups_of(source.files, self.base):
                yield from self._rows_of(number, group, sieve)
            if report.usable == before:
                report.note(f"nothing was kept of {' and '.join(source.files)}")
        sieve.finish()
        if not report.usable:
            raise nothing_kept(self.sources, report)

    def _rows_of(
        self, number: int, group: tuple[Path, ...], sieve: Sieve, limit: int | None = None
    ) -> Iterator[CorpusRow]:
        source, note = self.sources[number], sieve.report.note
        options = ReadOptions(self.checks.fields, source.columns, self.checks.languages, source.encoding, note)
        sides = self._sides(source, group)
        undecoded = Undecoded(group, source.encoding)
        for row in islice(read(group, self.base, options), limit):
            undecoded.add(row)
            texts = sieve.sift(row)
            if texts is None:
                continue
            if sides:
                sides.add(texts, row.line)
            yield CorpusRow(texts, number, row.file, row.line, sieve.read_rows - 1)
        undecoded.finish(note)
        if sides:
            sides.finish(note)

    def _look(self, number: int, group: tuple[Path, ...], sample: int, sieve: Sieve) -> None:
        before = sieve.report.dropped.get(COLUMNS, 0)
        usable = sum(1 for _ in self._rows_of(number, group, sieve, sample))
        if sieve.report.dropped.get(COLUMNS, 0) - before > usable:
            raise wrong_columns(shown(group[0], self.base), self.sources[number], self.checks.fields, sieve.report)

    def _sides(self, source: Source, group: tuple[Path, ...]) -> Sides | None:
        checks = self.checks
        if not checks.swapped or checks.languages is None or checks.labelled or checks.fields == 1:
            return None
        return Sides(checks.languages, shown(group[0], self.base), remedy(source, group))


def fits(source: Source, fields: int) -> None:
    """Refuse a source that cannot give as many fields as a row has."""
    if len(source.files) > fields:
        raise InputError(
            "rows of one field come from one file", found=" and ".join(source.files), do="give each file as a source"
        )
    if source.columns is not None and len(source.columns) != fields:
        raise InputError(
            f"a row has {fields} field{'s' if fields > 1 else ''}, so as many columns must be named",
            found=f"columns = {json.dumps(source.columns)}",
            do=f"for example {spelled(list(range(fields)))}",
        )


def remedy(source: Source, group: tuple[Path, ...]) -> str:
    """How the columns of a source are turned round."""
    if len(group) == 2:
        return f"swap the files: {json.dumps(source.files[::-1])}"
    if source.columns:
        return f"swap the columns: {spelled(source.columns[::-1])}"
    if format_of(group[0]) in ("text", "tsv", "catalogue"):
        return f"swap the columns: {spelled([1, 0])}"
    return "swap the columns: name them in the other order"


def wrong_columns(file: str, source: Source, fields: int, report: CorpusReport) -> InputError:
    """The error for a file most of whose rows do not have the columns that are wanted."""
    examples = report.examples[COLUMNS]
    advice = REMEDIES[COLUMNS] if source.columns is None else OTHERS
    return InputError(
        f"most rows of {file} do not have the {'two columns' if fields == 2 else 'one column'} that are wanted",
        found=next((example for example in examples if example.startswith(f"{file}:")), examples[-1]),
        do=advice if fields == 2 else f"say which column to read: {spelled([0])}, or its name",
    )


def nothing_kept(sources: Sequence[Source], report: CorpusReport) -> InputError:
    """The error for a corpus of which nothing is left."""
    names = ", ".join(file for source in sources for file in source.files)
    reasons = sorted(report.dropped, key=lambda reason: -report.dropped[reason])
    remedies = REMEDIES | ({COLUMNS: OTHERS} if any(source.columns for source in sources) else {})
    counts = ", ".join(f"{report.dropped[reason]:,} dropped: {reason}" for reason in reasons)
    return InputError(
        f"no row of {names} can be used",
        found=f"{counts}; for example {report.examples[reasons[0]][0]}" if reasons else "no rows",
        do=remedies.get(reasons[0], "see whether these are the files you meant") if reasons else "name another file",
    )


def file_digest(path: Path) -> str:
    """The digest of a file's bytes, read piece by piece."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise FileError(f"{path} cannot be read", found=str(error), do="check the name and its rights") from error
