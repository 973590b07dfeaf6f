"""Formats of lines: plain text, tab-separated columns, and two files side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from regard.text.corpora.alignment import unequal_counts
from regard.text.corpora.columns import choose, is_header, positions
from regard.text.corpora.opening import lines
from regard.text.corpora.rows import COLUMNS, Found, Wanted, decoded


def read_plain(path: Path, file: str) -> Iterator[Found]:
    """Each line is a row of one text."""
    for number, line in enumerate(lines(path), 1):
        text = decoded(line, file, number)
        yield Found((text,), file, number) if isinstance(text, str) else text


def read_aligned(paths: tuple[Path, Path], files: tuple[str, str]) -> Iterator[Found]:
    """Line n of one file belongs to line n of the other; refuses files of which one ends first."""
    for number, (first, second) in enumerate(zip_longest(lines(paths[0]), lines(paths[1])), 1):
        if first is None or second is None:
            raise unequal_counts(paths, files)
        left, right = decoded(first, files[0], number), decoded(second, files[1], number)
        if isinstance(left, Found):
            yield left
        elif isinstance(right, Found):
            yield right
        else:
            yield Found((left, right), files[0], number)


def read_tsv(path: Path, file: str, wanted: Wanted) -> Iterator[Found]:
    """Columns between tabs, with or without a header; quotes have no meaning."""
    picked: list[int] | None = None
    for number, line in enumerate(lines(path), 1):
        text = decoded(line, file, number)
        if number == 1:
            header = text.split("\t") if isinstance(text, str) else []
            named = any(isinstance(column, str) for column in wanted.columns or ())
            if named or (len(header) >= wanted.fields and is_header(header)):
                picked = header_columns(header, file, wanted)
                continue
            picked = positions(wanted.columns, None) if wanted.columns else None
        yield picked_row(text, picked, wanted, Found((), file, number)) if isinstance(text, str) else text


def header_columns(header: list[str], file: str, wanted: Wanted) -> list[int]:
    """The columns to read below a header."""
    wanted.note(f"{file}: the first line is a header ({', '.join(name.strip() for name in header)})")
    if wanted.columns is not None:
        return positions(wanted.columns, header)
    return positions(tuple(choose([name.strip() for name in header], wanted, file)), header)


def picked_row(text: str, picked: list[int] | None, wanted: Wanted, where: Found) -> Found:
    """The wanted columns of one line."""
    cells = text.split("\t")
    if not text.strip():
        return where._replace(texts=("",) * wanted.fields)
    if picked is None:
        problem = "" if len(cells) == wanted.fields else COLUMNS
        return where._replace(texts=tuple(cells), problem=problem)
    if len(cells) <= max(picked):
        return where._replace(texts=tuple(cells), problem=COLUMNS)
    return where._replace(texts=tuple(cells[column] for column in picked))
