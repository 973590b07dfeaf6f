"""What stages see of a run's text: nothing that the run is validated or scored on, and nothing that it keeps aside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.text.corpora import digest
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.data.stage_text import StageText, reference_file
from regard.training.recipe.recipe import Recipe, read_recipe
from regard.training.recipe.source_rows import chosen
from regard.training.recipe.stage_recipe import Stage, stages_of
from tests.prepare_cases import prepare, texts
from tests.training_cases import EventRecorder, numbers, write_rows

TABLES = {"distillation": {"teacher": {}}, "back_translation": {"model": {}}}
ASIDE = 0.1


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def digests(found: Any) -> set[bytes]:
    return {digest(text) for text in found}


def written(folder: Path, recipe: Recipe) -> tuple[StageText, dict[str, Stage]]:
    text = StageText(recipe, folder, folder / "text", EventRecorder())
    text.write()
    return text, {stage.name: stage for stage in stages_of(recipe)}


def trained_on(folder: Path, data: dict[str, Any]) -> PreparedText:
    """What the same run without stages holds back and trains on."""
    return prepare(folder, data=data)


@pytest.mark.parametrize("named", [True, False])
def test_no_stage_sees_what_is_held_back_scored_or_kept_aside(named: bool, tmp_path: Path) -> None:
    rows = numbers(300)
    write_rows(tmp_path / "a.tsv", rows[:200])
    write_rows(tmp_path / "b.tsv", rows[150:])  # shares rows with the other, and all of what follows
    write_rows(tmp_path / "t.tsv", rows[280:])
    data: dict[str, Any] = {"train": ["a.tsv", {"file": "b.tsv", "weight": 2}], "aside": ASIDE, "test": {"t": "t.tsv"}}
    if named:
        write_rows(tmp_path / "v.tsv", rows[190:210])
        data["valid"] = "v.tsv"
    else:
        data["held"] = 20
    plain = trained_on(tmp_path, data)
    mono = [french for _, french in rows]
    (tmp_path / "mono.txt").write_text("\n".join(mono) + "\n", encoding="utf-8")
    for back in ({}, {"data": "mono.txt"}):
        folder = tmp_path / f"stages{len(back)}"
        folder.mkdir()
        recipe = read_recipe({"data": data, **TABLES, "back_translation": {"model": {}, **back}})
        text = StageText(recipe, tmp_path, folder, EventRecorder())
        text.write()
        found = {stage.name: stage for stage in stages_of(recipe)}
        pairs = [(a, b) for n in (0, 1) for a, b in zip(lines(folder / f"{n}.source"), lines(folder / f"{n}.target"),
                                                        strict=True)]  # fmt: skip
        assert pairs == list(zip(texts(plain, "source"), texts(plain, "target"), strict=True))
        for side, name in enumerate(("distillation", "back_translation")):
            inputs = [line for path in text.inputs(found[name], folder / name) for line in lines(path)]
            assert len(inputs) > 100
            assert not digests(inputs) & digests(row[side] for row in plain.valid)
            assert not digests(inputs) & digests(row[side] for row in rows[280:])
            assert not any(chosen(line, ASIDE) for line in inputs)
        assert {row[0] for row in plain.valid} == set(lines(folder / "valid.source"))


def test_texts_are_translated_once_each_beside_their_reference(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", [*numbers(40), *numbers(40)])
    recipe = read_recipe({"data": {"train": "a.tsv", "held": 4}, **TABLES})
    text, found = written(tmp_path, recipe)
    (path,) = text.inputs(found["distillation"], tmp_path / "d")
    assert len(lines(path)) == len(set(lines(path)))
    assert set(zip(lines(path), lines(reference_file(path)), strict=True)) <= set(numbers(40))
    before = path.read_bytes()
    text.inputs(found["distillation"], tmp_path / "d")
    assert path.read_bytes() == before


def test_a_share_is_chosen_by_the_text(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(200))
    some: dict[float, set[str]] = {}
    for share in (0.3, 0.6, 1.0):
        tables = {"distillation": {"teacher": {}, "share": share}}
        folder = tmp_path / str(share)
        folder.mkdir()
        recipe = read_recipe({"data": {"train": "a.tsv", "held": 4}, **tables})
        text = StageText(recipe, tmp_path, folder, EventRecorder())
        text.write()
        (path,) = text.inputs(stages_of(recipe)[0], folder / "d")
        some[share] = set(lines(path))
    assert some[0.3] < some[0.6] < some[1.0]
    assert 30 < len(some[0.3]) < 90


def test_what_was_written_is_not_written_again(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(40))
    recipe = read_recipe({"data": {"train": "a.tsv", "held": 4}, **TABLES})
    heard = EventRecorder()
    first = StageText(recipe, tmp_path, tmp_path / "text", heard).write()
    events = len(heard.events)
    assert StageText(recipe, tmp_path, tmp_path / "text", heard).write() == first
    assert len(heard.events) == events


def test_texts_to_translate_back_are_read_with_the_rest_and_known_again(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.tsv", numbers(40))
    (tmp_path / "mono.txt").write_text("un deux\n", encoding="utf-8")
    recipe = read_recipe({"data": {"train": "a.tsv"}, "back_translation": {"model": {}, "data": "mono.txt"}})
    preparation = Preparation(recipe, tmp_path, tmp_path / "model", False, EventRecorder())
    preparation.check()
    assert "mono.txt" in preparation.fingerprint()
