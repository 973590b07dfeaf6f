"""`regard models` and the card that `regard info` shows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file
from typer.testing import CliRunner

from benchmarks import peers
from regard.cli import app
from regard.interop.folders import shipped
from regard.tasks.weight_storage import store


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    store("grammar", root / "small")
    peers.save(peers.gpt2(1), root / "theirs", "gpt2")
    shutil.copytree(root / "small", root / "torn")
    (root / "torn" / "model.safetensors").write_bytes(b"torn")
    (root / "settings").mkdir()
    (root / "settings" / "config.json").write_text("{}", encoding="utf-8")
    return root


def listed(folder: Path) -> dict[str, dict[str, object]]:
    told = CliRunner().invoke(app, ["models", str(folder), "--json"])
    assert told.exit_code == 0, told.stderr
    return {Path(row["name"]).name: row for row in json.loads(told.stdout)}


def test_what_ships_and_what_lies_there(place: Path) -> None:
    rows = listed(place)
    assert list(rows) == [*shipped(), "small", "theirs", "torn"]  # settings of others hold no weights
    weights = load_file(shipped()["grammar"] / "model.safetensors").values()
    for name in ("grammar", "small"):  # in 8 bits there are as many parameters: scales are none
        assert rows[name]["parameters"] == sum(tensor.numel() for tensor in weights)
        assert (rows[name]["languages"], rows[name]["family"]) == (["en", "fr"], "transformer")
    assert [rows[name]["ships"] for name in ("grammar", "small")] == [True, False]
    assert int(str(rows["small"]["bytes"])) < int(str(rows["grammar"]["bytes"]))
    assert (rows["theirs"]["family"], rows["theirs"]["languages"]) == ("gpt2", None)
    assert rows["torn"]["problem"]


def test_the_table_has_a_line_of_scores(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    told = CliRunner().invoke(app, ["models"])
    lines = told.stdout.splitlines()
    assert any(line.startswith("grammar (ships)") and "BLEU test 99.95, unseen 99.98" in line for line in lines)
    assert any(line.startswith("small ") and "1.4 MB" in line for line in lines)
    assert told.stderr == ""


def test_a_folder_that_is_a_model_is_listed_itself(place: Path) -> None:
    assert "small" in listed(place / "small")


def test_an_empty_folder_is_said_to_be_empty(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["models", str(tmp_path)])
    assert (told.exit_code, "no models in" in told.stderr, "grammar (ships)" in told.stdout) == (0, True, True)
    told = CliRunner().invoke(app, ["models", str(tmp_path / "nowhere")])
    assert (told.exit_code, "is no folder" in told.stderr) == (2, True)


@pytest.mark.parametrize("name", ["small", "theirs"])
def test_info_shows_the_card_of_any_folder_that_has_one(name: str, place: Path, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(place / name, folder)
    (folder / "README.md").write_text("# A card\n\nWhat it cannot do: fly.\n", encoding="utf-8")
    told = CliRunner().invoke(app, ["info", str(folder)])
    assert told.stdout.endswith("# A card\n\nWhat it cannot do: fly.\n")
    if name == "theirs":  # a family that ours do not equal has one too
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        other = {**settings, "architectures": ["OtherModel"], "model_type": "other"}
        (folder / "config.json").write_text(json.dumps(other), encoding="utf-8")
        assert "What it cannot do: fly." in CliRunner().invoke(app, ["info", str(folder)]).stdout
