"""How the model of a stage is trained: as the run is, but for what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.errors import InputError, UnknownNameError
from regard.training.recipe.recipe import Recipe, read_recipe
from regard.training.recipe.stage_recipe import stage_recipe, stages_of

DATA = {"train": ["a.tsv", "b.tsv"], "languages": ("en", "fr"), "longest": 50, "slots": 0.1, "aside": 0.1}
RUN = {
    "name": "mine", "data": DATA, "model": {"preset": "tiny", "dim": 64},
    "training": {"steps": 1000, "warmup": 100, "rate": 0.002, "validate_every": 500, "checkpoint_every": 500},
}  # fmt: skip


def staged(**tables: Any) -> tuple[Recipe, Recipe]:
    recipe = read_recipe({**RUN, **tables})
    (stage,) = stages_of(recipe)
    return recipe, stage_recipe(recipe, stage, [0, 1], [1.0, 2.0])


def test_a_teacher_is_trained_like_the_run_with_a_model_of_its_own() -> None:
    teacher = {"model": {"preset": "small"}, "training": {"steps": 4000}}
    recipe, theirs = staged(distillation={"teacher": teacher})
    assert theirs.name == "mine-teacher"
    assert theirs.model == {"preset": "small"}
    assert theirs.training.steps == 4000
    assert theirs.training.warmup == 400
    assert theirs.training.rate == recipe.training.rate
    assert theirs.data.train == [
        {"source": "0.source", "target": "0.target", "weight": 1.0},
        {"source": "1.source", "target": "1.target", "weight": 2.0},
    ]
    assert (theirs.data.longest, theirs.data.slots, theirs.data.aside, theirs.data.languages) == (
        50,
        0.1,
        0.0,
        ("en", "fr"),
    )
    assert theirs.distillation is None


def test_the_other_direction_reads_what_the_run_writes() -> None:
    recipe, theirs = staged(back_translation={"model": {}})
    assert theirs.model == recipe.model
    assert theirs.training == recipe.training
    assert theirs.data.train[0] == {"source": "0.target", "target": "0.source", "weight": 1.0}
    assert theirs.data.valid == [{"source": "valid.target", "target": "valid.source"}]
    assert theirs.data.languages == ("fr", "en")


def test_a_recipe_says_how_a_stage_is_trained_and_not_on_what(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text('[data]\ntrain = "x.tsv"\n[model]\npreset = "base"\n[training]\nrate = 0.5\n')
    _, theirs = staged(distillation={"teacher": str(path)})
    assert theirs.model == {"preset": "base"}
    assert theirs.training.rate == 0.5
    assert theirs.data.train[0]["source"] == "0.source"


def test_a_model_that_is_there_is_not_trained() -> None:
    recipe = read_recipe({**RUN, "distillation": {"teacher": "grammar"}, "back_translation": {"model": "x.toml"}})
    assert [(stage.name, stage.trained) for stage in stages_of(recipe)] == [
        ("back_translation", True),
        ("distillation", False),
    ]


def test_what_is_wrong_is_said_by_name() -> None:
    with pytest.raises(InputError, match=r"distillation\.teacher is not right") as found:
        staged(distillation={"teacher": {"data": {}}})
    assert "tokenizer, model, training, decoding" in found.value.do
    with pytest.raises(UnknownNameError, match="beam"):
        staged(distillation={"teacher": {}, "beam": 2})
    with pytest.raises(InputError, match=r"lacks back_translation\.model"):
        staged(back_translation={})


def test_a_recipe_with_stages_reads_back_as_it_was_written() -> None:
    import tomllib

    recipe = read_recipe({**RUN, "distillation": {"teacher": {}}, "back_translation": {"model": "m", "data": "x.txt"}})
    assert read_recipe(tomllib.loads(recipe.to_toml())) == recipe
