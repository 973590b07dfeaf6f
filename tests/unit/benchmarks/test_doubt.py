"""Rank correlation of doubt and quality."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.doubt import correlate, pairs_of, ranks, sentence_chrf, spearman


def test_ranks_are_shared_by_equals() -> None:
    assert ranks([10, 30, 20, 20]).tolist() == [1, 4, 2.5, 2.5]


def test_spearman_sees_order_alone() -> None:
    assert spearman([1, 2, 3, 4], [1, 8, 27, 1000]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [9, 5, 2, 1]) == pytest.approx(-1)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0
    assert spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) == pytest.approx(1 - 6 * 4 / (5 * 24))


def test_the_interval_holds_the_value_and_narrows_with_more_texts() -> None:
    rng = np.random.default_rng(0)
    doubt = rng.random(400)
    quality = -doubt + rng.normal(0, 0.5, 400)
    few, many = correlate(doubt[:40], quality[:40], 200), correlate(doubt, quality, 200)
    for result in (few, many):
        assert result.low < result.value < result.high
    assert many.high - many.low < few.high - few.low
    assert many.high < 0


def test_pairs_come_from_a_set_a_table_or_two_files(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("one\tun\ntwo\tdeux\n", encoding="utf-8")
    for name, lines in (("a.en", "one\ntwo\n"), ("a.fr", "un\ndeux\n")):
        (tmp_path / name).write_text(lines, encoding="utf-8")
    expected = [("one", "un"), ("two", "deux")]
    assert pairs_of([str(tmp_path / "a.tsv")], 9) == expected
    assert pairs_of([str(tmp_path / "a.en"), str(tmp_path / "a.fr")], 9) == expected
    assert len(pairs_of(["grammar:test"], 5)) == 5
    assert sentence_chrf(["un", "x"], ["un", "un"]) == [pytest.approx(100), pytest.approx(0)]


def test_from_the_command_line() -> None:
    import typer

    from benchmarks.doubt import main

    app = typer.Typer()
    app.command()(main)
    result = CliRunner().invoke(app, ["grammar", "grammar:test", "--count", "6", "--beams", "1"])
    assert result.exit_code == 0, result.output
    assert "Spearman of doubt and chrF" in result.output
