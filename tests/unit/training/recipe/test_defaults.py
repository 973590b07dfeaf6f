"""A recipe for files alone: what they are is seen in them, however they are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.errors import InputError
from regard.training import train
from regard.training.recipe.resolve import Request, resolve
from tests.training_cases import numbers, write_rows


def test_two_files_of_two_columns_are_not_two_sides(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two columns each"):
        train([str(corpus), str(corpus)], tmp_path, device="cpu")


def test_a_glob_needs_no_suffix(tmp_path: Path) -> None:
    rows = numbers(80)
    write_rows(tmp_path / "part-a", rows[:40])
    write_rows(tmp_path / "part-b", rows[40:])
    assert resolve(Request("part-*", tmp_path)).task == "translate"
