"""Gettext catalogues, PO and MO: what programs say, and its translation. Read whole, as they are small."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.errors import FileError, UnknownNameError
from regard.text.corpora.names import plain_name
from regard.text.corpora.opening import BOM, library, open_bytes
from regard.text.corpora.rows import INVALID, RawRow, ReadOptions, unwritable

CHARSET = re.compile(rb"charset=([\w.:-]+)")
NAMES = ("msgid", "msgstr")
# polib breaks lines at these too; as another control character they are repaired, and counted, all the same
LINE_ENDS = {ord(mark): "\x01" for mark in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"}


def read_catalogue(path: Path, file: str, options: ReadOptions) -> Iterator[RawRow]:
    """Messages and their translations; a plural is a row of its own, beside the last form of its translation."""
    picked = picked_sides(options)
    for number, entry in enumerate(entries(path), 1):
        problem = problem_of(entry)
        for pair in pairs_of(entry):
            broken = INVALID if unwritable(pair) else ""
            yield RawRow(tuple(pair[side] for side in picked), file, number, problem or broken)


def entries(path: Path) -> list[Any]:
    """The entries of a catalogue, without its header."""
    polib = library("polib", f"reading {path.name}")
    with open_bytes(path) as file:
        data = file.read().removeprefix(BOM)
    match = CHARSET.search(data)
    charset = match.group(1).decode() if match and match.group(1) != b"CHARSET" else "utf-8"
    try:
        if Path(plain_name(path)).suffix.lower() == ".mo":
            return list(polib.mofile(data, encoding=charset))
        text = data.decode(charset, "surrogateescape").translate(LINE_ENDS)
        return list(polib.pofile(text, encoding=charset))
    except Exception as error:  # polib raises whatever it stumbles over
        raise FileError(
            f"{path} is no gettext catalogue", found=str(error), do="mend it, or export it again"
        ) from error


def problem_of(entry: Any) -> str:
    """Why a translation is not to be trusted, or is not there."""
    if entry.obsolete:
        return "obsolete"
    if "fuzzy" in entry.flags:
        return "fuzzy"
    return "" if entry.msgstr or any(entry.msgstr_plural.values()) else "untranslated"


def pairs_of(entry: Any) -> Iterator[tuple[str, str]]:
    """The message and its translation, and the same of its plural."""
    if not entry.msgid_plural:
        yield entry.msgid, entry.msgstr
        return
    forms = [entry.msgstr_plural[number] for number in sorted(entry.msgstr_plural)] or [""]
    yield entry.msgid, forms[0]
    yield entry.msgid_plural, forms[-1]


def picked_sides(options: ReadOptions) -> list[int]:
    """Which of message (0) and translation (1) are read, in their order."""
    sides: list[int] = []
    for column in options.columns or range(options.fields):
        if column not in (0, 1, *NAMES):
            raise UnknownNameError("column", str(column), NAMES)
        sides.append(column if isinstance(column, int) else NAMES.index(column))
    return sides
