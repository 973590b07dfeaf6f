"""Formats of lines: plain text, tab-separated columns, and two files side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path

from regard.text.corpora.columns import choose, first_columns, is_header, positions, tell_columns
from regard.text.corpora.encoding import UTF_8
from regard.text.corpora.line_counts import unequal_counts
from regard.text.corpora.rows import COLUMNS, RawRow, ReadOptions, texts_of

FIRST = 100  # lines that show how many columns there are
ROOM = 1 << 16  # characters of them


def read_plain(path: Path, file: str, encoding: str = UTF_8) -> Iterator[RawRow]:
    """Each line is a row of one text."""
    for number, text in enumerate(texts_of(path, file, encoding), 1):
        yield RawRow((text,), file, number) if isinstance(text, str) else text


def read_aligned(paths: tuple[Path, Path], files: tuple[str, str], encoding: str = UTF_8) -> Iterator[RawRow]:
    """Line n of one file belongs to line n of the other; refuses files of which one ends first."""
    sides = (texts_of(path, file, encoding) for path, file in zip(paths, files, strict=True))
    for number, (left, right) in enumerate(zip_longest(*sides), 1):
        if left is None or right is None:
            raise unequal_counts(paths, files, encoding)
        if isinstance(left, RawRow):
            yield left
        elif isinstance(right, RawRow):
            yield right
        else:
            yield RawRow((left, right), files[0], number)


def read_tsv(path: Path, file: str, options: ReadOptions) -> Iterator[RawRow]:
    """Columns between tabs, with or without a header; quotes have no meaning."""
    texts = texts_of(path, file, options.encoding)
    first = list(peeked(texts))
    header = header_of(first, options)
    picked = unnamed_columns(first, file, options) if header is None else header_columns(header, file, options)
    for number, text in enumerate(chain(first, texts), 1):
        if number > 1 or header is None:
            yield picked_row(text, picked, options, RawRow((), file, number)) if isinstance(text, str) else text


def peeked(texts: Iterator[str | RawRow]) -> Iterator[str | RawRow]:
    """The first lines; fewer where they are long, since they are held in memory."""
    room = ROOM
    for text in islice(texts, FIRST):
        yield text
        room -= len(text) if isinstance(text, str) else 0
        if room < 0:
            return


def header_of(first: list[str | RawRow], options: ReadOptions) -> list[str] | None:
    """The names in the first line, if it holds any: because it looks so, or because columns are asked for by name."""
    if not first:
        return None
    cells = first[0].split("\t") if isinstance(first[0], str) else []
    named = any(isinstance(column, str) for column in options.columns or ())
    return cells if named or (len(cells) >= options.fields and is_header(cells)) else None


def header_columns(header: list[str], file: str, options: ReadOptions) -> list[int]:
    """The columns to read below a header."""
    names = [name.strip() for name in header]
    options.note(f"{file}: the first line is a header ({', '.join(names)})")
    return positions(options.columns or tuple(choose(names, options, file, first=True)), names)


def unnamed_columns(first: list[str | RawRow], file: str, options: ReadOptions) -> list[int] | None:
    """The columns to read where nothing names them; None where every row should hold those that are wanted, no more."""
    rows = [text.split("\t") for text in first if isinstance(text, str) and text.strip()]
    picked = first_columns(rows, options.fields) if options.columns is None else positions(options.columns, None)
    if picked is not None:
        tell_columns(rows, picked, file, options)
    return picked


def picked_row(text: str, picked: list[int] | None, options: ReadOptions, where: RawRow) -> RawRow:
    """The wanted columns of one line."""
    cells = text.split("\t")
    if not text.strip():
        return where._replace(texts=("",) * options.fields)
    if picked is None:
        problem = "" if len(cells) == options.fields else COLUMNS
        return where._replace(texts=tuple(cells), problem=problem)
    if len(cells) <= max(picked):
        return where._replace(texts=tuple(cells), problem=COLUMNS)
    return where._replace(texts=tuple(cells[column] for column in picked))
