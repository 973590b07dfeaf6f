"""Pictures, pages and tables as files, with the folders they need; an error says what to do."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from regard.errors import FileError


def write_text(text: str, path: str | Path) -> None:
    """As UTF-8."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error


def write_csv(path: str | Path | TextIO, lines: Iterable[Iterable[object]]) -> None:
    """Line by line, as they come, to a file or to what is open already."""
    if not isinstance(path, (str, Path)):
        csv.writer(path, lineterminator="\n").writerows(lines)
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: object, error: OSError) -> FileError:
    return FileError(f"cannot write {path}", found=str(error), do="choose another place, or make room")
