"""Who changes the steps changes what hangs on them, unless they say otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.errors import InputError
from regard.training import train
from regard.training.recipe.derived import scaled
from regard.training.recipe.recipe import Training, find_recipe, names
from regard.training.recipe.resolve import Request, resolve
from tests.training_cases import TINY, EventRecorder, go, settings


def resolved(what: Path | str, *given: str) -> Training:
    return resolve(Request(str(what), Path(), list(given), scratch=True)).training


@pytest.mark.parametrize("name", names())
def test_a_recipe_that_nobody_changes_is_as_it_is_written(name: str) -> None:
    written = find_recipe(name)["training"]
    found = resolved(name).model_dump()
    assert {key: found[key] for key in written} == {
        key: tuple(value) if isinstance(value, list) else value for key, value in written.items()
    }


def test_fewer_steps_of_a_recipe_warm_up_and_validate_in_proportion() -> None:
    """tatoeba-en-fr: 20,000 steps, warm-up 1,000, a validation each 2,000, a checkpoint each 1,000, decay 0.999."""
    found = resolved("tatoeba-en-fr", "training.steps=2000")
    assert (found.warmup, found.validate_every, found.checkpoint_every) == (100, 200, 100)
    assert found.decay == pytest.approx(1 - 1 / 100)  # it spans a tenth as many steps


def test_what_is_given_stays() -> None:
    given = ("training.steps=2000", "training.warmup=1000", "training.validate_every=2000", "training.decay=0.999")
    found = resolved("tatoeba-en-fr", *given)
    assert (found.warmup, found.validate_every, found.checkpoint_every, found.decay) == (1000, 2000, 100, 0.999)


def test_text_of_ones_own_too(corpus: Path) -> None:
    """The complaint: 150 steps kept a warm-up of 1,000."""
    found = resolved(corpus, "training.steps=150")
    assert found.warmup == 19  # of 1,500 steps it was an eighth
    assert found.validate_every == 50  # a validation costs as much as many steps
    longer = resolved(corpus, "training.steps=15000")
    assert (longer.warmup, longer.validate_every) == (1870, 1500)


def test_a_recipe_file_that_says_only_its_steps(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[data]\ntrain = "a.tsv"\n\n[training]\nsteps = 150\n')
    found = resolved(file)
    assert (found.steps, found.warmup, found.validate_every, found.checkpoint_every) == (150, 6, 50, 50)
    assert resolved(file, "training.steps=10").warmup == 0


@pytest.mark.parametrize(
    ("values", "old", "new", "expected"),
    [
        ({"warmup": 9}, 10, 1, {"warmup": 0}),
        ({"warmup": 0}, 10, 1000, {"warmup": 0}),
        ({"warmup": 20}, 10, 5, {"warmup": 4}),  # never as long as the run
        ({"validate_every": 500}, 1000, 3, {"validate_every": 3}),
        ({"checkpoint_every": 7}, 1000, 10, {"checkpoint_every": 7}),
        ({"decay": 0.9}, 1000, 10, {"decay": 0.9}),
        ({"decay": 0.5}, 10, 1000, {"decay": 0.995}),
        ({"decay": 0.0}, 10, 5, {"decay": 0.0}),
        ({"warmup": "long"}, 10, 1, {"warmup": "long"}),
    ],
)
def test_in_proportion(values: dict[str, Any], old: int, new: int, expected: dict[str, Any]) -> None:
    assert scaled(values, old, new) == expected


@pytest.mark.parametrize("setting", ["training.steps=many", "training.steps=0", "training=3"])
def test_what_is_wrong_is_still_said(setting: str, corpus: Path) -> None:
    with pytest.raises(InputError, match="training"):
        resolved(corpus, setting)


def test_a_warm_up_as_long_as_the_run_is_warned_of(corpus: Path, tmp_path: Path) -> None:
    heard = EventRecorder()
    go(corpus, tmp_path / "model", TINY, {"training.steps": 2, "training.warmup": 2}, listener=heard)
    assert "still rising" in heard.warnings
    assert "training.warmup = 2" in heard.warnings


def test_the_folder_shows_the_effective_numbers_and_the_same_command_goes_on(corpus: Path, tmp_path: Path) -> None:
    brief = {key: value for key, value in TINY.items() if key != "training.warmup"}
    how: dict[str, Any] = {"settings": settings(brief), "device": "cpu", "threads": 1}
    assert train(str(corpus), tmp_path / "model", **how).status == "finished"
    assert "warmup = 1\n" in (tmp_path / "model" / "recipe.toml").read_text()
    assert train(str(corpus), tmp_path / "model", **how).status == "already finished"
