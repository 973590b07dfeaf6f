"""Files get their folders, and an error that says what to do."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from regard.drawing.writing import write_csv, write_text
from regard.errors import FileError

LINES = [["site", "head"], ["a, b", 1]]


def test_a_table_goes_to_a_file_or_to_what_is_open(tmp_path: Path) -> None:
    out = io.StringIO()
    write_csv(out, LINES)
    write_csv(tmp_path / "new" / "table.csv", iter(LINES))
    assert out.getvalue() == (tmp_path / "new" / "table.csv").read_text(encoding="utf-8") == 'site,head\n"a, b",1\n'


def test_a_text_is_written_as_utf_8(tmp_path: Path) -> None:
    write_text("été", tmp_path / "new" / "text.svg")
    assert (tmp_path / "new" / "text.svg").read_bytes() == "été".encode()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for write in (lambda path: write_text("", path), lambda path: write_csv(path, LINES)):
        with pytest.raises(FileError, match="choose another place"):
            write(tmp_path / "file" / "below")
