"""A model in fewer bits: smaller, complete, and compared before it is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.errors import FileError, InputError
from regard.interop.folders import shipped
from regard.models import load_model
from regard.models.quantised import ROW_ERROR
from regard.tasks import weight_storage
from regard.tasks.weight_storage import CARRIED, store

TEXTS = ["The cat sleeps.", "The animal did not cross the street because it was too tired."]


def test_a_shipped_model_is_half_as_large_and_says_the_same(tmp_path: Path) -> None:
    report = store("grammar", tmp_path / "small")
    ours, theirs = regard.load(tmp_path / "small", "cpu"), regard.load("grammar", "cpu")
    assert isinstance(ours, regard.Translator)
    assert isinstance(theirs, regard.Translator)
    assert ours.translate(TEXTS) == theirs.translate(TEXTS)
    assert 0.50 < report.bytes_after / report.bytes_before < 0.55  # 16 bits before, 8 and the scales after
    assert 0 < report.row_error <= ROW_ERROR
    for path in (path for pattern in CARRIED for path in shipped()["grammar"].glob(pattern)):
        assert (tmp_path / "small" / path.name).read_bytes() == path.read_bytes()
    assert {"README.md", "alignment.json", "recipe.toml", "tokenizer.json"} <= set(report.files)


def test_all_bits_keep_all_of_a_weight(tmp_path: Path) -> None:
    assert store("grammar", tmp_path / "whole", 32).row_error == 0
    state = load_model(shipped()["grammar"]).state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in load_model(tmp_path / "whole").state_dict().items())


def test_a_weight_that_is_read_otherwise_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(folder: Path) -> Any:
        model = load_model(folder)
        with torch.no_grad():
            next(iter(model.parameters()))[0, 0] += 1
        return model

    monkeypatch.setattr(weight_storage, "load_model", broken)
    with pytest.raises(FileError, match="not read as it was written"):
        store("grammar", tmp_path / "small")
    assert list(tmp_path.iterdir()) == []


def test_a_full_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x", encoding="utf-8")
    with pytest.raises(FileError):
        store("grammar", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_verb_says_how_small_it_is_and_how_to_see_the_cost(tmp_path: Path) -> None:
    out = tmp_path / "small"
    told = CliRunner().invoke(app, ["export", "grammar", "--to", "regard", "--out", str(out)])
    assert told.exit_code == 0
    assert "weights in 8 bits: 1.2 MB, before 2.3 MB" in told.output
    assert f"regard evaluate {out} DATA --against grammar" in told.output
    as_json = ["export", "grammar", "--to", "regard", "--bits", "16", "--json", "--out", str(tmp_path / "half")]
    told = CliRunner().invoke(app, as_json)
    assert json.loads(told.stdout)["bits"] == 16


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--to", "regard", "--bits", "4"], "8, 16 or 32 bits"),
        (["--bits", "8"], "bits are for regard's own folders"),
        (["--to", "regrad"], "regard"),
    ],
)
def test_what_cannot_be_is_said(words: list[str], answer: str, tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["export", "grammar", "--out", str(tmp_path / "new"), *words])
    assert (told.exit_code, answer in told.output) == (2, True)
    assert not (tmp_path / "new").exists()


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    from regard.tasks.verified_export import export

    export("grammar", tmp_path / "theirs")
    with pytest.raises(InputError, match="not in regard's format"):
        store(tmp_path / "theirs", tmp_path / "small")
