"""Recipes: read, changed, written down and read again; what is wrong is named."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import FileError, InputError, UnknownNameError
from regard.training.recipe.build_model import config_for
from regard.training.recipe.recipe import (
    Decoding,
    Recipe,
    Training,
    find_recipe,
    names,
    read_recipe,
    with_settings,
)
from regard.training.recipe.resolve import Request, resolve
from tests.training_cases import setting

LEAST: dict[str, Any] = {"data": {"train": "text.tsv"}}


class Full:
    size = 1000


@pytest.mark.parametrize("name", names())
def test_every_recipe_of_the_package_can_be_read_and_built(name: str) -> None:
    recipe = read_recipe(find_recipe(name))
    assert recipe.name == name
    assert read_recipe(tomllib.loads(recipe.to_toml())) == recipe
    if recipe.start is None:
        assert config_for(recipe, Full(), ("a", "b"))  # type: ignore[arg-type]
    assert find_recipe(f"{name}.toml") == find_recipe(name)


def test_the_least_recipe_has_defaults_for_the_rest() -> None:
    recipe = read_recipe(LEAST)
    assert (recipe.task, recipe.data.train, recipe.training) == ("translate", ["text.tsv"], Training())


def test_sources_may_be_written_alone_or_as_a_list() -> None:
    pair = {"source": "a.en", "target": "a.fr"}
    assert read_recipe({"data": {"train": pair}}).data.train == [pair]
    assert read_recipe({"data": {"train": [["a.en", "a.fr"], "b.tsv"]}}).data.train == [["a.en", "a.fr"], "b.tsv"]


@pytest.mark.parametrize(
    ("data", "place", "guess"),
    [
        ({"trainig": {}}, "setting 'trainig'", "training"),
        ({"training": {"step": 3}}, "setting in training 'step'", "steps"),
        ({"data": {"train": "x", "vaild": "y"}}, "setting in data 'vaild'", "valid"),
        ({"tokenizer": {"vocab": 300}}, "setting in tokenizer 'vocab'", "vocabulary"),
        ({"decoding": {"beam": 3}}, "setting in decoding 'beam'", "beams"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(data: dict[str, Any], place: str, guess: str) -> None:
    with pytest.raises(UnknownNameError, match=place) as error:
        read_recipe({**LEAST, **data})
    assert f"did you mean '{guess}'?" in error.value.do


@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        ({"training": {"steps": 0}}, "training.steps", "0"),
        ({"training": {"steps": "many"}}, "training.steps", "'many'"),
        ({"training": {"smoothing": 1.0}}, "training.smoothing", "1.0"),
        ({"training": {"rate": float("nan")}}, "training.rate", "nan"),
        ({"training": {"optimizer": "sgd"}}, "training.optimizer", "'sgd'"),
        ({"training": {"betas": [0.9]}}, "training.betas", ""),
        ({"training": {"betas": [0.9, 1.0]}}, "training.betas", "1.0"),
        ({"tokenizer": {"vocabulary": 100}}, "tokenizer.vocabulary", "100"),
        ({"task": "sing"}, "task", "'sing'"),
        ({"data": {"train": []}}, "data.train", "[]"),
        ({"data": {"train": "x", "languages": ["en"]}}, "data.languages", ""),
        ({"data": 3}, "data", "3"),
    ],
)
def test_a_wrong_value_is_named_by_its_place(data: dict[str, Any], place: str, found: str) -> None:
    with pytest.raises(InputError) as error:
        read_recipe({**LEAST, **data})
    assert place in error.value.wrong
    assert found in error.value.found


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match=r"the recipe lacks data.train"):
        read_recipe({"data": {}})
    with pytest.raises(InputError, match=r"the recipe lacks data$|the recipe lacks data\n"):
        read_recipe({})


def test_settings_change_single_values() -> None:
    settings = [
        "training.steps=5",
        "name = my run",
        'data.languages=["en", "fr"]',
        "training.rate=2e-3",
        "model.tied=false",
    ]
    changed = with_settings({**LEAST, "training": {"steps": 9, "seed": 3}}, settings)
    recipe = read_recipe(changed)
    assert (recipe.training.steps, recipe.training.seed, recipe.training.rate) == (5, 3, 2e-3)
    assert (recipe.name, recipe.data.languages, recipe.model) == ("my run", ("en", "fr"), {"tied": False})
    assert LEAST == {"data": {"train": "text.tsv"}}


@pytest.mark.parametrize("setting", ["training.steps", "=3", " = 3"])
def test_a_setting_without_key_or_value_is_refused(setting: str) -> None:
    with pytest.raises(InputError, match="KEY=VALUE"):
        with_settings(LEAST, [setting])


def test_a_setting_inside_of_what_is_no_table_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        with_settings({**LEAST, "name": "x"}, ["name.first=3"])


def test_a_table_that_was_given_a_value_is_not_offered_again() -> None:
    with pytest.raises(InputError, match="no table 'training'") as error:
        with_settings({}, ["training=3", "training.steps=2"])
    assert "did you mean 'training'" not in str(error.value)


def test_a_recipe_with_a_date_is_refused_as_such(tmp_path: Path) -> None:
    file = tmp_path / "dated.toml"
    file.write_text('name = 2024-01-01\n[data]\ntrain = "x.tsv"\n')
    with pytest.raises(InputError, match="name is not right"):
        resolve(Request(str(file), tmp_path, ["training.steps=3"]))


def test_the_seed_and_the_task_are_settings_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[data]\ntrain = "x.tsv"\n[training]\nsteps = 3\n')
    recipe = resolve(Request(str(file), tmp_path, ["training.seed=7"], "classify"))
    assert (recipe.task, recipe.training.seed, recipe.training.steps) == ("classify", 7, 3)


def test_a_recipe_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        find_recipe(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("name = \n")
    with pytest.raises(FileError, match="is not TOML"):
        find_recipe(str(tmp_path / "bad.toml"))
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"\n')
    with pytest.raises(FileError, match="cannot read"):
        find_recipe(str(tmp_path / "latin.toml"))


def test_a_name_much_like_a_recipe_is_answered_with_it(tmp_path: Path) -> None:
    known = names()[0]
    with pytest.raises(UnknownNameError, match="there is no recipe") as error:
        resolve(Request(known[:-1] + "x", tmp_path))
    assert "did you mean" in error.value.do


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
VALUES = st.recursive(
    st.one_of(TEXTS, st.booleans(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


MOMENTS = st.one_of(st.dates(), st.times(), st.datetimes())


@given(st.dictionaries(TEXTS, st.one_of(VALUES, MOMENTS), max_size=3))
def test_whatever_toml_can_say_of_a_model_is_written_and_read_again(model: dict[str, Any]) -> None:
    """What no model has is refused by name when one is built, not where it is written down."""
    recipe = read_recipe({**LEAST, "model": model})
    assert tomllib.loads(recipe.to_toml()).get("model", {}) == model


def test_tables_with_nothing_in_them_are_not_written() -> None:
    recipe = read_recipe(LEAST)
    assert "[data.test]" not in recipe.to_toml()
    assert "[model]" not in recipe.to_toml()
    assert read_recipe(tomllib.loads(recipe.to_toml())) == recipe


EARLIER = """\
name = "mine"
task = "translate"

[data]
train = [{source = "train.en", target = "train.fr", weight = 2.0}, "more.tsv"]
valid = []
test = {"2016 flickr" = {source = "test.en", target = "test.fr"}}
languages = ["en", "fr"]

[training]
betas = [0.9, 0.98]
epsilon = 1.0e-09
"""


def test_a_recipe_as_it_was_written_earlier_is_still_read() -> None:
    recipe = read_recipe(tomllib.loads(EARLIER))
    assert recipe.data.test == {"2016 flickr": {"source": "test.en", "target": "test.fr"}}
    assert recipe.training.epsilon == 1e-9
    assert read_recipe(tomllib.loads(recipe.to_toml())) == recipe


def of(part: type, name: str) -> st.SearchStrategy[Any]:
    """Values that a setting may have."""
    field = part.model_fields[name]  # type: ignore[attr-defined]
    if choices := get_args(field.annotation):
        several = {"betas": (0.5, 0.25), "minutes": 2.5}
        return st.just(several[name]) if name in several else st.sampled_from(choices)
    limits = {type(one).__name__: one for one in field.metadata}
    low = limits["Ge"].ge if "Ge" in limits else limits["Gt"].gt if "Gt" in limits else 0
    high = limits["Lt"].lt if "Lt" in limits else limits["Le"].le if "Le" in limits else low + 1000
    if field.annotation is bool:
        return st.booleans()
    if field.annotation is str:
        return TEXTS
    if field.annotation is int:
        return st.integers(int(low), int(high))
    return st.floats(low, high, exclude_min="Gt" in limits, exclude_max="Lt" in limits, allow_subnormal=False)


SOURCES = st.one_of(TEXTS, st.fixed_dictionaries({"file": TEXTS}, optional={"weight": st.floats(0.1, 9)}))


@given(
    st.fixed_dictionaries({}, optional={name: of(Training, name) for name in Training.model_fields}),
    st.fixed_dictionaries({}, optional={name: of(Decoding, name) for name in Decoding.model_fields}),
    TEXTS,
    st.dictionaries(TEXTS, VALUES, max_size=3),
    st.lists(SOURCES, min_size=1, max_size=3),
)
@settings(max_examples=40)
def test_a_recipe_written_down_is_that_recipe(
    training: dict[str, Any], decoding: dict[str, Any], name: str, model: dict[str, Any], train: list[Any]
) -> None:
    data = {"name": name, "data": {"train": train, "test": {name: "x"}}, "model": model}
    recipe = read_recipe({**data, "training": training, "decoding": decoding})
    assert isinstance(recipe, Recipe)
    assert read_recipe(tomllib.loads(recipe.to_toml())) == recipe
    changes = [setting(f"training.{key}", value) for key, value in training.items()]
    assert read_recipe(with_settings(data, changes)).training == recipe.training
