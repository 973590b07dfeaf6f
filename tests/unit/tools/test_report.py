"""Sections of RESULTS.md: each in its place, the others as they were."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report import write_section

BEFORE = "# Results\n\n## One (1)?\n\nold\n\n## Two\n\nkeep\n"


def test_a_section_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    path.write_text(BEFORE, encoding="utf-8")
    write_section("One (1)?", ["| a |", "| b |"], path)
    assert path.read_text(encoding="utf-8") == BEFORE.replace("old", "| a |\n| b |")
    write_section("One (1)?", ["old"], path)
    assert path.read_text(encoding="utf-8") == BEFORE


def test_a_new_section_comes_last_and_is_replaced_there(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    path.write_text(BEFORE, encoding="utf-8")
    for text in ("first", "second"):
        write_section("Three", [text], path)
    assert path.read_text(encoding="utf-8") == BEFORE + "\n## Three\n\nsecond\n"
