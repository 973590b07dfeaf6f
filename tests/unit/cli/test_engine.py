"""`regard translate --engine ctranslate2` and `regard export --to`: what a person types, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from regard.cli import app, loading
from regard.tasks import load_engine
from regard.training.evaluate.sets import read_data
from tests.export_cases import folder_of


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_engine, "cache_folder", lambda: tmp_path / "assets")


def run(*arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(app, list(arguments), input=text)


def test_both_engines_write_the_same_lines() -> None:
    lines = "\n".join([*read_data(["grammar:test:12:7"]).pairs().sources, "", "The cat sleeps."])
    ours, theirs = (
        run("translate", "grammar", "--device", "cpu", "--engine", name, text=lines) for name in load_engine.ENGINES
    )
    assert theirs.exit_code == 0, theirs.stderr
    assert theirs.stdout == ours.stdout
    assert theirs.stdout.endswith("\n\nLe chat dort.\n")


def test_eight_bits_and_json() -> None:
    options = ("--engine", "ctranslate2", "--quantization", "int8", "--json", "--nbest", "2")
    result = json.loads(run("translate", "grammar", *options, text="The cat sleeps.\n").stdout)
    assert result["translation"] == "Le chat dort."
    assert len(result["nbest"]) == 2


def test_documents_go_through_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.md").write_text("# The cat sleeps.\n")
    loaded = []

    def load(folder: Path, device: str, engine: str, *, quantization: str) -> object:
        loaded.append((engine, quantization))
        return load_engine.load(folder, device, engine, quantization=quantization)

    monkeypatch.setattr(loading, "load", load)
    options = ("--out", str(tmp_path / "out.md"), "--engine", "ctranslate2", "--quantization", "int8")
    result = run("translate", "grammar", str(tmp_path / "in.md"), *options)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out.md").read_text().startswith("# Le chat dort.\n")
    assert loaded == [("ctranslate2", "int8")]
    result = run("translate", "grammar", str(tmp_path / "in.md"), *options, "--review", str(tmp_path / "page.html"))
    assert result.exit_code == 2
    assert "shows no attention, of which a review is made" in result.stderr


def test_files_go_through_it_too(tmp_path: Path) -> None:
    (tmp_path / "in.en").write_text("The cat sleeps.\nThe dog eats.\n")
    options = ("--out", str(tmp_path / "out.fr"), "--engine", "ctranslate2", "--quantization", "int8")
    result = run("translate", "grammar", str(tmp_path / "in.en"), *options)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "out.fr").read_text() == "Le chat dort.\nLe chien mange.\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "ctranslate"), "did you mean 'ctranslate2'?"),
        (("--quantization", "int8"), "do: --engine ctranslate2"),
        (("--engine", "ctranslate2", "--alignments"), "shows no attention"),
        (("--engine", "ctranslate2", "--dtype", "bfloat16"), "do: --quantization int8"),
        (("--engine", "ctranslate2", "--stop", "proven"), 'do: stop="likely" or "full"'),
    ],
)
def test_what_does_not_fit_is_refused_in_words(options: tuple[str, ...], words: str) -> None:
    result = run("translate", "grammar", "--device", "cpu", *options, text="The cat sleeps.\n")
    assert result.exit_code == 2
    assert words in result.stderr


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2", None)
    result = run("translate", "grammar", "--engine", "ctranslate2", text="The cat sleeps.\n")
    assert (result.exit_code, 'pip install "regard[fast]"' in result.stderr) == (2, True)


def test_an_export_for_ctranslate2_says_how_to_use_it(tmp_path: Path) -> None:
    folder, out = folder_of("transformer", tmp_path / "ours"), str(tmp_path / "ct")
    result = run("export", str(folder), "--to", "ctranslate2", "--quantization", "int8", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "in 8 bits: log probabilities off by up to" in result.stdout
    assert f"or: regard translate {out} --engine ctranslate2" in result.stdout
    code = "\n".join(
        line[2:] for line in result.stdout.split("\n") if line.startswith("  ") and "read by" not in line
    )  # fmt: skip
    names: dict[str, Any] = {}
    exec(code, names)  # what is printed can be pasted
    assert isinstance(names["text"], str)
    said = run("translate", out, "--engine", "ctranslate2", "--beams", "1", "--max-length", "5", text="one two\n")
    assert said.exit_code == 0, said.stderr
