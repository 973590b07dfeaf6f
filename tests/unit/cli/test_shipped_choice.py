"""`regard translate` without a model: by languages, and never a file taken for a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from regard.cli import app, shipped_choice
from regard.interop import folders
from tests.shipped_models import grammar_as, ship


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in language's model under two names, in an empty folder."""
    places = tmp_path / "shelf"
    ship(monkeypatch, en_fr=grammar_as(places / "en-fr"), fr_en=grammar_as(places / "fr-en", "fr", "en"))
    monkeypatch.setattr(shipped_choice, "shipped", folders.shipped)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def translate(*words: str, given: str = "The cat sleeps.\n") -> Result:
    return CliRunner().invoke(app, ["translate", *words, "--device", "cpu"], input=given)


def test_without_a_model_english_becomes_french() -> None:
    told = translate()
    assert told.stdout == "Le chat dort.\n"
    assert told.stderr == "note: en-fr: the model that ships with regard\n"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--to", "en"], "fr-en"), (["--from", "fr"], "fr-en"), (["--to", "FR"], "en-fr"),
        (["--from", "en", "--to", "fr"], "en-fr"),
    ],
)  # fmt: skip
def test_languages_choose_the_model(words: list[str], name: str) -> None:
    assert f"note: {name}: the model that ships" in translate(*words).stderr


@pytest.mark.parametrize("words", [["--to", "de"], ["--from", "de"], ["--from", "en", "--to", "en"]])
def test_languages_that_no_model_has_are_said(words: list[str]) -> None:
    told = translate(*words)
    assert told.exit_code == 2
    assert "ships with this regard" in told.stderr
    assert f"these ship: {', '.join(folders.shipped())}" in told.stderr
    assert "regard translate MODEL" in told.stderr


def test_several_models_are_not_chosen_among_by_chance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ship(monkeypatch, de_en=grammar_as(tmp_path / "de-en", "de", "en"))
    told = translate("--to", "en")
    assert (told.exit_code, "fr-en, de-en" in told.stderr) == (2, True)


def test_a_model_named_has_languages_of_its_own() -> None:
    told = translate("grammar", "--to", "en")
    assert (told.exit_code, "grammar and --to en" in told.stderr) == (2, True)


def test_a_build_without_the_model_says_so_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_choice, "general_translators", dict)
    told = translate()
    assert told.exit_code == 2
    assert "no model for en-fr ships" in told.stderr
    assert "regard train en-fr" in told.stderr


def test_a_first_word_that_is_a_file_is_a_file() -> None:
    Path("text.txt").write_text("The cat sleeps.\n", encoding="utf-8")
    told = translate("text.txt", "--out", "new.txt")
    assert told.exit_code == 0, told.stderr
    assert Path("new.txt").read_text(encoding="utf-8") == "Le chat dort.\n"
    assert "not the model" not in told.stderr  # nothing about it is ambiguous
    told = translate("grammar", "text.txt", "--out", "named.txt")
    assert Path("named.txt").read_text(encoding="utf-8") == "Le chat dort.\n"


def test_a_file_called_like_a_model_is_the_file_and_it_is_said() -> None:
    Path("grammar").write_text("The cat sleeps.\n", encoding="utf-8")
    told = translate("grammar", "--out", "new.txt")
    assert "note: grammar: the file here, not the model that ships" in told.stderr
    assert Path("new.txt").read_text(encoding="utf-8") == "Le chat dort.\n"


def test_a_word_that_is_neither_is_a_file_that_is_not_there() -> None:
    told = translate("missing.txt", "--out", "new.txt")
    assert (told.exit_code, "there is no file missing.txt" in told.stderr) == (2, True)


def test_a_toy_is_no_general_translator() -> None:
    assert folders.general_translators() == {("en", "fr"): "en-fr", ("fr", "en"): "fr-en"}
