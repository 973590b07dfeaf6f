"""A table written into RESULTS.md stands in the place of the last one, and nothing else moves."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import markdown, write_section

BEFORE = "# Results\n\nWords.\n\n## First\n\none\n\n## Second\n\ntwo\n"


def test_a_section_is_replaced_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "RESULTS.md"
    file.write_text(BEFORE)
    write_section("First", ["anew"], file)
    assert file.read_text() == BEFORE.replace("one", "anew")
    write_section("Second", ["last"], file)
    assert file.read_text() == BEFORE.replace("one", "anew").replace("two", "last")


def test_a_new_section_comes_last(tmp_path: Path) -> None:
    file = tmp_path / "RESULTS.md"
    file.write_text(BEFORE)
    write_section("Third", ["three"], file)
    assert file.read_text() == BEFORE + "\n## Third\n\nthree\n"
    empty = tmp_path / "none.md"
    write_section("Alone", ["one"], empty)
    assert empty.read_text() == "# Results\n\n## Alone\n\none\n"


def test_numbers_stand_to_the_right() -> None:
    assert markdown(["way", "time"], [["ours", "1 ms"]]) == ["| way | time |", "| --- | ---: |", "| ours | 1 ms |"]
