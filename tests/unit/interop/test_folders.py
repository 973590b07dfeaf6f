"""Where a name leads: an existing folder first, then a model that ships, then the hub; and it is said which."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard
from regard.cli import app
from regard.errors import FileError
from regard.interop import folders
from regard.interop.folders import locate, shipped, where

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, without a hub."""

    def no_hub(name: str) -> Path:
        raise FileError(f"asked the hub for {name}")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folders, "download", no_hub)


def test_a_name_that_ships_needs_no_folder_and_no_network() -> None:
    found = where("grammar")
    assert found.kind == "ships"
    assert found.folder == shipped()["grammar"] == locate("grammar")
    assert found.note == "grammar: the model that ships with regard"


def test_a_folder_comes_first_and_it_is_said() -> None:
    Path("grammar").mkdir()
    found = where("grammar")
    assert (found.kind, found.folder) == ("folder", Path("grammar"))
    assert "the folder here" in found.note
    Path("mine").mkdir()
    assert where("mine").note == ""


def test_any_other_name_is_asked_of_the_hub() -> None:
    with pytest.raises(FileError, match="asked the hub for org/grammar"):
        where("org/grammar")


def test_a_path_or_a_file_is_no_name_of_a_model() -> None:
    Path("grammar").write_text("a file")
    with pytest.raises(FileError) as error:
        where("grammar")
    assert error.value.found == "a file"
    assert "grammar" in str(error.value)
    with pytest.raises(FileError):
        where(Path("nowhere"))


def test_every_verb_says_which_model_it_took() -> None:
    said = RUNNER.invoke(app, ["translate", "grammar"], input="The cat sleeps.\n")
    assert (said.exit_code, said.stdout) == (0, "Le chat dort.\n")
    looked = RUNNER.invoke(app, ["look", "grammar", "The cat sleeps."])
    scored = RUNNER.invoke(app, ["evaluate", "grammar", "grammar:test", "--limit", "5"])
    for found in (said, looked, scored):
        assert found.exit_code == 0, found.output
        assert "note: grammar: the model that ships with regard" in found.stderr


def test_what_ships_is_not_written_to() -> None:
    before = (shipped()["grammar"] / "alignment.json").read_bytes()
    found = RUNNER.invoke(app, ["align", "grammar", "grammar:valid:20", "--save"])
    assert found.exit_code == 2
    assert "beside a model of your own" in found.stderr
    assert (shipped()["grammar"] / "alignment.json").read_bytes() == before


def test_info_tells_the_card_and_what_it_scored() -> None:
    found = RUNNER.invoke(app, ["info", "grammar"])
    assert found.exit_code == 0, found.output
    assert "ships with regard" in found.stdout
    assert "pronoun_agreement" in found.stdout
    assert "What it cannot do" in found.stdout


def test_what_ships_is_small_and_half_precision() -> None:
    from safetensors.torch import load_file

    folder = shipped()["grammar"]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 3_000_000
    assert {str(tensor.dtype) for tensor in load_file(folder / "model.safetensors").values()} == {"torch.float16"}
    assert {path.name for path in folder.iterdir()} >= {
        "README.md", "config.json", "log.jsonl", "model.safetensors", "recipe.toml", "run.json", "tokenizer.json",
    }  # fmt: skip
    assert isinstance(regard.load("grammar"), regard.Translator)
