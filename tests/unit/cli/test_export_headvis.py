"""`regard export RECORDING --headvis FOLDER`: what is written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from regard.cli import app
from regard.lens.recording_api import Recording
from tests.page_cases import noise


@pytest.fixture
def file(tmp_path: Path) -> str:
    Recording(calls=[noise(2, 3, 6)]).save(tmp_path / "seen.regard")
    return str(tmp_path / "seen.regard")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["export", *arguments])


def test_a_recording_becomes_the_folder(file: str, tmp_path: Path) -> None:
    result = run(file, "--headvis", str(tmp_path / "data"))
    assert result.exit_code == 0, result.stderr
    assert "6 heads on 1 text" in result.stdout
    assert "0 is layers.0.attn, 1 is layers.1.attn" in result.stdout
    assert json.loads((tmp_path / "data" / "config.json").read_text())["model_name"] == "seen"
    told = json.loads(run(file, "--headvis", str(tmp_path / "other"), "--json").stdout)
    assert (told["heads"], told["layers"]) == (6, ["layers.0.attn", "layers.1.attn"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("FILE",), "--headvis FOLDER"),
        (("FILE", "--headvis", "new", "--out", "x"), "--out"),
        (("FILE", "--headvis", "new", "--to", "onnx"), "--to"),
        (("grammar", "--headvis", "new"), "regard record grammar"),
        (("grammar",), "--out FOLDER"),
    ],
)
def test_what_has_no_meaning_is_refused(arguments: tuple[str, ...], sentence: str, file: str) -> None:
    result = run(*(file if argument == "FILE" else argument for argument in arguments))
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert not Path("new").exists()
