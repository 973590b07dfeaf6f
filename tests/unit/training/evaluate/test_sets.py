"""What a model is scored on, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import regard
from regard.errors import InputError, RegardError
from regard.training.evaluate import (
    evaluate,
    read_data,
)
from tests.evaluation_cases import Folders, written


@pytest.mark.parametrize(
    ("model", "files", "options", "message"),
    [
        ("marian", ["grammar:unsen"], {}, "did you mean 'grammar:unseen'"),
        ("marian", ["grammar:test:many"], {}, "by name, count and seed"),
        ("marian", ["grammar:test", "b.fr"], {}, "a grammar set has both sides already"),
        ("marian", [], {}, "a source is one file, or two"),
        ("marian", ["nowhere.tsv"], {}, r"there is no file .*nowhere\.tsv"),
        ("marian", ["pairs.tsv"], {"beam": 2}, "did you mean 'beams'"),
        ("marian", ["pairs.tsv"], {"batch": 0}, "batch must be at least 1"),
        ("gpt2", ["pairs.tsv"], {"window": -1}, "window must be at least 1"),
        ("gpt2", ["a.en", "a.fr"], {}, "rows of one field come from one file"),
        ("classes", ["grammar:test"], {}, "has no labels"),
        ("masks", ["pairs.tsv"], {"against": "marian"}, "only translators are compared"),
    ],
)
def test_errors(
    model: str, files: list[str], options: dict[str, Any], message: str, folders: Folders, tmp_path: Path
) -> None:
    written(tmp_path / "pairs.tsv", "w1\tw2")
    if "against" in options:
        options = {"against": regard.load(folders[options["against"]], "cpu")}
    with pytest.raises(RegardError, match=message):
        evaluate(regard.load(folders[model], "cpu"), read_data(files, tmp_path), **options)


def test_a_limit_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="limit must be at least 1"):
        read_data(["pairs.tsv"], limit=0)


def test_columns_as_in_a_recipe(folders: Folders, tmp_path: Path) -> None:
    written(tmp_path / "pairs.tsv", "w1 w2\tw3 w4")
    data = read_data({"file": "pairs.tsv", "columns": [1, 0]}, tmp_path)
    assert data.pairs().sources == ["w3 w4"]
    assert evaluate(regard.load(folders["marian"], "cpu"), data).count == 1
