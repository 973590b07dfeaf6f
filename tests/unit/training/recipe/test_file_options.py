"""Columns and encodings said on the command line, for text and for recipes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from regard.errors import InputError
from regard.tasks import load
from regard.training import train
from regard.training.evaluate import evaluate, read_data
from regard.training.recipe.file_options import FileOptions
from regard.training.recipe.resolve import Request, resolve
from tests.training_cases import TINY, EventRecorder, numbers, settings, write_rows

HOW: dict[str, Any] = {"settings": settings(TINY, {"training.steps": 2}), "device": "cpu", "threads": 1}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    rows = [(english, french, "somebody") for english, french in numbers(60)]
    write_rows(folder / "three.tsv", rows)
    (folder / "latin.tsv").write_bytes("".join("\t".join(row) + "\n" for row in rows).encode("latin-1"))
    (folder / "mine.toml").write_text('[data]\ntrain = "three.tsv"\ntest = {own = "three.tsv"}\n')
    return folder


def test_training_reads_three_columns_and_says_which(place: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    assert train("three.tsv", tmp_path / "a", data=place, listener=heard, **HOW).status == "finished"
    assert "three.tsv has 3 columns: reads columns 0 and 1" in heard.notes
    rehearsed = EventRecorder()
    train("three.tsv", tmp_path / "b", data=place, listener=rehearsed, dry_run=True, **HOW)
    assert "three.tsv has 3 columns" in rehearsed.notes


def test_another_encoding_and_other_columns_are_part_of_the_recipe(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--encoding cp1252 reads it"):
        train("latin.tsv", tmp_path / "a", data=place, **HOW)
    how = {**HOW, "data": place, "columns": [1, 0], "encoding": "cp1252"}
    train("latin.tsv", tmp_path / "a", **how)
    written = tomllib.loads((tmp_path / "a" / "recipe.toml").read_text(encoding="utf-8"))
    assert written["data"]["train"] == [{"file": "latin.tsv", "columns": [1, 0], "encoding": "cp1252"}]
    assert train("latin.tsv", tmp_path / "a", **how).status == "already finished"
    with pytest.raises(InputError, match=r"another kind(.|\n)*data.train was"):
        train("latin.tsv", tmp_path / "a", **{**how, "encoding": "mac-roman"})
    again = train(tmp_path / "a" / "recipe.toml", tmp_path / "b", data=place, device="cpu", threads=1)
    assert again.status == "finished"


def test_a_recipe_is_told_too_but_what_it_says_itself_comes_first(place: Path) -> None:
    options = FileOptions((1, 0), "cp1252")
    recipe = resolve(Request(str(place / "mine.toml"), place, options=options))
    own = {"file": "three.tsv", "columns": [1, 0], "encoding": "cp1252"}
    assert (recipe.data.train, recipe.data.test) == ([own], {"own": own})
    said = {"data": {"train": [{"file": "a.tsv", "columns": [4, 5]}, "b.tsv", ["c.en", "c.fr"], "grammar:train"]}}
    assert FileOptions((0, 2)).apply_to_recipe(said)["data"]["train"] == [
        {"file": "a.tsv", "columns": [4, 5]}, {"file": "b.tsv", "columns": [0, 2]}, ["c.en", "c.fr"], "grammar:train",
    ]  # fmt: skip
    with pytest.raises(InputError, match="trains on none"):
        FileOptions((0, 2)).apply_to_recipe({"data": {"train": [["c.en", "c.fr"]]}})
    with pytest.raises(InputError, match="columns are for a single file"):
        resolve(Request(["three.tsv", "latin.tsv"], place, [], "translate", FileOptions((0, 1), "utf-16")))
    with pytest.raises(InputError, match="no encoding"):
        FileOptions(encoding="latin-111")


def test_evaluation_reads_the_same_way(place: Path, tmp_path: Path) -> None:
    train("three.tsv", tmp_path / "a", data=place, **HOW)
    model = load(tmp_path / "a", "cpu")
    plain = evaluate(model, read_data("three.tsv", place, 5), beams=1)
    assert plain.notes[0].startswith("three.tsv has 3 columns: reads columns 0 and 1")
    with pytest.raises(InputError, match="--encoding cp1252 reads it"):
        evaluate(model, read_data("latin.tsv", place, 5), beams=1)  # however few rows are asked for
    other = evaluate(model, read_data({"file": "latin.tsv", "encoding": "cp1252"}, place, 5), beams=1)
    assert [score.value for score in other.scores] == [score.value for score in plain.scores]
