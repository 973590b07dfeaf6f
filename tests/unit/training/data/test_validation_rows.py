"""What is held back to validate with, and never trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text.corpora import digest
from tests.prepare_cases import prepare, texts
from tests.training_cases import STACK, EventRecorder, go, numbers, write_rows


def test_rows_of_the_validation_set_are_not_trained_on(tmp_path: Path) -> None:
    rows = numbers(50)
    write_rows(tmp_path / "a.tsv", rows)
    write_rows(tmp_path / "v.tsv", [(f" {english.replace(' ', '  ')} ", french) for english, french in rows[:20]])
    heard = EventRecorder()
    prepared = prepare(tmp_path, heard, data={"train": "a.tsv", "valid": "v.tsv"})
    assert "20 rows dropped: also in the validation set" in heard.warnings
    assert texts(prepared, "source") == [english for english, _ in rows[20:]]


def test_the_built_in_language_keeps_its_sets_apart_too(tmp_path: Path) -> None:
    heard = EventRecorder()
    prepared = prepare(tmp_path, heard, data={"train": "grammar:train:60", "valid": "grammar:train:10"})
    assert len(prepared.columns["source"]) <= 50
    assert "also in the validation set" in heard.warnings


@given(st.integers(2, 60), st.integers(1, 30), st.integers(0, 50))
@settings(max_examples=25)
def test_no_text_is_on_both_sides(tmp_path_factory: pytest.TempPathFactory, count: int, held: int, seed: int) -> None:
    folder = tmp_path_factory.mktemp("held")
    rows = numbers(count, seed)
    twice = [*rows, *((english.replace(" ", "  "), french + " encore") for english, french in rows[: count // 2])]
    write_rows(folder / "a.tsv", twice)
    prepared = prepare(folder, data={"train": "a.tsv", "held": held})
    read = {digest(text) for text in texts(prepared, "source")}
    kept = {digest(row[0]) for row in prepared.valid}
    assert kept
    assert read
    assert not read & kept
    assert len(prepared.valid) + len(prepared.columns["source"]) == len(twice)


def test_about_as_many_are_held_back_as_asked_for_but_never_more_than_a_tenth(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(2000))
    assert 60 < len(prepare(tmp_path, data={"train": "a.tsv", "held": 100}).valid) < 140
    write_rows(tmp_path / "b" / "a.tsv", numbers(300))
    assert 10 < len(prepare(tmp_path / "b", data={"train": "a.tsv", "held": 1000}).valid) < 50


def test_of_a_running_text_the_end_is_held_back(tmp_path: Path) -> None:
    lines = [f"line {n}" for n in range(50)]
    write_rows(tmp_path / "a.txt", [[line] for line in lines])
    prepared = prepare(tmp_path, task="generate", data={"train": "a.txt", "held": 4})
    assert [row[0] for row in prepared.valid] == lines[-4:]
    assert "".join(texts(prepared, "text")) == "".join(f"{line}\n" for line in lines[:-4])


@pytest.mark.parametrize("end", [[""], ["", "", ""]])
def test_a_running_text_may_end_in_empty_lines(end: list[str], tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.txt", [[line] for line in [*(f"line {n}" for n in range(30)), *end]])
    assert go(file, tmp_path / "model", STACK, {"data.held": 1, "training.block": 8}).status == "finished"
