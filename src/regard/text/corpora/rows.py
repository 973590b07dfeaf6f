"""What travels from a file to its reader's caller: rows, as found and as kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.text.corpora.encoding import UTF_8, is_wide
from regard.text.corpora.opening import lines

Columns = tuple[str | int, ...]

INVALID = "invalid UTF-8"
COLUMNS = "wrong number of columns"
NOT_TEXT = "not text"
SURROGATE = re.compile("[\ud800-\udfff]")  # bytes that are not UTF-8, or half a character as JSON may spell it


class CorpusRow(NamedTuple):
    """One kept row, and where it stood."""

    texts: tuple[str, ...]  # (source, target), (text, label) or (text,)
    source: int  # the number of the Source it is from
    file: str
    line: int  # from 1; in TMX, PO, MO and parquet the number of the unit
    number: int = 0  # among all rows of its source, from 0, those that were dropped included


class RawRow(NamedTuple):
    """One row as a file has it, before any check; with a problem, `texts` is what there is to show of it."""

    texts: tuple[str, ...]
    file: str
    line: int
    problem: str = ""


@dataclass(frozen=True)
class ReadOptions:
    """What a reader is asked for."""

    fields: int = 2
    columns: Columns | None = None
    languages: tuple[str, str] | None = None
    encoding: str = UTF_8
    note: Callable[[str], None] = lambda text: None  # told what people should know, such as a header that was skipped


def decoded(data: bytes, file: str, line: int, encoding: str = UTF_8) -> str | RawRow:
    """The text of some bytes, or why there is none."""
    try:
        return data.decode(encoding)
    except UnicodeError:
        problem = INVALID if encoding == UTF_8 else f"invalid {encoding}"
        return RawRow((data.decode("utf-8", "backslashreplace"),), file, line, problem)


def texts_of(path: Path, file: str, encoding: str = UTF_8) -> Iterator[str | RawRow]:
    """The lines of a file as text, or why there is none."""
    within = UTF_8 if is_wide(encoding) else encoding  # a wide one has been recoded on the way
    for number, line in enumerate(lines(path, encoding), 1):
        yield decoded(line, file, number, within)


def unwritable(texts: tuple[str, ...]) -> bool:
    """Whether a text holds what no UTF-8 can."""
    return any(SURROGATE.search(text) for text in texts)
