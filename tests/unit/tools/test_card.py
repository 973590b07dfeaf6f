"""The card of a translator: every number from a file, every text with its terms."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from regard.errors import FileError
from regard.tasks.weight_storage import store
from regard.training.report.run_log import duration
from tools import card as module
from tools.card import card, main, training_run

MEASURED = {"value": 12.34, "interval": 0.56, "signature": "nrefs:1|made:up"}
SET = {"name": "FLORES-200 devtest", "pairs": 1012, "bleu": MEASURED, "chrf": {**MEASURED, "value": 45.67},
       "dictionary": {"bleu": 3.21, "chrf": 9.87},
       "published": [{"model": "another", "bleu": 52.2, "chrf": None}]}  # fmt: skip
SCORES: dict[str, Any] = {"languages": ["en", "fr"], "beams": 4, "sets": [SET], "provenance": "`by hand`."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The built-in language's model in 8 bits, as if it had been trained on two of the real texts."""
    store("grammar", tmp_path / "en-fr")
    recipe = tmp_path / "en-fr" / "recipe.toml"
    sources = (
        '[{file = "tatoeba-en-fr/pairs.tsv", weight = 4}, '
        '{source = "canada-laws-en-fr/train.en", target = "canada-laws-en-fr/train.fr", weight = 0.3}]'
    )
    text = recipe.read_text(encoding="utf-8").replace('["grammar:train:200000"]', sources)
    recipe.write_text(text, encoding="utf-8")
    return tmp_path / "en-fr"


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> str:
    scores = folder.parent / "scores.json"
    scores.write_text(json.dumps(SCORES), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["card", str(folder), "--evaluations", str(scores), *words])
    main()
    return (folder / "README.md").read_text(encoding="utf-8")


def test_the_numbers_are_those_of_the_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(folder, monkeypatch, "--watts", "700")
    assert text.startswith("# en-fr: English to French")
    assert "1,168,512 parameters" in text
    assert "1.2 MB, kept in 8 bits" in text
    assert "| FLORES-200 devtest | 1,012 | 12.34 ± 0.56 | 45.67 ± 0.56 | 3.21 | 9.87 | 52.2 |" in text
    assert f"8,000 updates in {duration(training_run(folder).seconds)}" in text
    assert f"{700 * training_run(folder).seconds / 3.6e6:.2g} kWh: an estimate, 700 W" in text
    assert "up to 64 pieces" in text


def test_every_text_has_its_terms(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(folder, monkeypatch)
    assert "| tatoeba-en-fr: everyday sentences | x 4 | CC BY 2.0 | tatoeba.org" in text
    assert "Open Government Licence - Canada" in text
    assert "European Parliament" not in text  # this one did not read it
    assert "no figure was given" in text  # nor is energy made up


def test_a_text_without_terms_is_refused(folder: Path) -> None:
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text(encoding="utf-8").replace("tatoeba-en-fr/", "mine/"), encoding="utf-8")
    with pytest.raises(FileError, match="terms of mine are not known"):
        card(folder, SCORES, None, [], None)


def test_what_fewer_bits_cost_is_said(folder: Path) -> None:
    before = {"sets": [{**SET, "bleu": {**MEASURED, "value": 12.5}}]}
    assert "| FLORES-200 devtest | 12.50 | -0.16 |" in card(folder, SCORES, before, [], None)


def test_scores_of_another_direction_are_refused(folder: Path) -> None:
    with pytest.raises(FileError, match="not those of"):
        card(folder, {**SCORES, "languages": ["fr", "en"]}, None, [], None)


def test_runs_that_it_rests_on_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(folder, monkeypatch, "--watts", "100", "--run", str(folder))
    assert f"{2 * 100 * training_run(folder).seconds / 3.6e6:.2g} kWh" in text


def test_the_terms_name_every_text_of_the_recipes_that_ship() -> None:
    from regard.training.recipe.recipe import find_recipe

    for name in ("en-fr", "fr-en"):
        assert {source for source, _ in module.sources_of(find_recipe(name))} <= set(module.TEXTS)
