"""`regard record` as a person meets it: one file, whole or not at all, readable by everyone the system lets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from regard.cli import app
from regard.lens.analysis.subject import open_subject
from regard.lens.recording_api import Recording
from tests.subjects import ours, theirs

TEXT = "w1 w2 w3 w4"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("record")
    folders = {name: ours(name, root) for name in ("transformer learned", "decoder")} | {"llama": theirs("llama", root)}
    (root / "text.txt").write_text("w1 w2\nw3 w4\n", encoding="utf-8")
    (root / "pairs.tsv").write_text("w1 w2\tw5\n\nw3\r\n", encoding="utf-8")
    return {name: str(path) for name, path in folders.items()} | {path.name: str(path) for path in root.glob("*.t*")}


def run(places: dict[str, str], *arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, [places.get(argument, argument) for argument in arguments], input=given)


@pytest.mark.parametrize("name", ["transformer learned", "decoder", "llama"])
def test_a_text_becomes_a_file(name: str, places: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "deep" / "a.regard"
    result = run(places, "record", name, TEXT, "--out", str(file))
    assert result.exit_code == 0, result.stderr
    told, badge = result.stderr.strip().splitlines()
    assert told.startswith(f"wrote {file}: ")
    assert "4 tokens" in told or "5 source and " in told
    assert "kB" in told
    assert badge.startswith("✓ regard")
    expected, found = open_subject(places[name], "cpu").see(TEXT), Recording.load(file)
    assert found.tokens == expected.tokens
    for site in expected.sites:
        assert torch.equal(found.weights(site, 1), expected.weights(site, 1))


def test_the_file_is_as_open_as_other_files(places: dict[str, str], tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        run(places, "record", "decoder", TEXT, "--out", str(tmp_path / "a.regard"))
    finally:
        os.umask(before)
    assert (tmp_path / "a.regard").stat().st_mode & 0o777 == 0o640


def test_what_to_keep(places: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "a.regard"
    kept = (
        "--sites",
        "decoder.*.cross",
        "--sites",
        "encoder.0.self",
        "--heads",
        "0, 2",
        "--dtype",
        "float16",
        "--values",
    )
    result = run(places, "record", "transformer learned", TEXT, "--target", "w5", "--out", str(file), *kept)
    assert result.exit_code == 0, result.stderr
    found = Recording.load(file).last
    assert found.sites == ["encoder.0.self", "decoder.0.cross", "decoder.1.cross"]
    assert found.target_tokens[1:] == ["w5"]
    one = found.map("decoder.1.cross")
    assert (one.heads, one.query.dtype, one.norms is not None) == ((0, 2), torch.float16, True)
    assert "2 heads (0, 2)" in run(places, "info", str(file)).stdout


def test_a_file_is_one_text_or_a_text_a_line(places: dict[str, str], tmp_path: Path) -> None:
    file = str(tmp_path / "a.regard")
    assert run(places, "record", "decoder", "--file", "text.txt", "--out", file).exit_code == 0
    assert Recording.load(file).tokens == ["w1", "w2", "w3", "w4"]
    assert run(places, "record", "decoder", "-", "--out", file, given="w7 w8\n").exit_code == 0
    assert Recording.load(file).tokens == ["w7", "w8"]
    run(places, "record", "transformer learned", TEXT, "--target", "-", "--out", file, given="w5 w6\n")
    assert Recording.load(file).target_tokens[1:] == ["w5", "w6"]
    result = run(places, "record", "transformer learned", "--file", "pairs.tsv", "--lines", "--out", file)
    assert "2 calls" in result.stderr
    calls = Recording.load(file).calls
    assert [call.tokens for call in calls] == [["w1", "w2", "</s>"], ["w3", "</s>"]]
    assert calls[0].target_tokens[1:] == ["w5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["decoder"], "there must be one text"),
        (["decoder", TEXT, "--file", "text.txt"], "there must be one text"),
        (["decoder", "--file", "nowhere.txt"], "cannot read nowhere.txt"),
        (["decoder", TEXT, "--heads", "x"], "--heads 0,3"),
        (["decoder", TEXT, "--heads", "²"], "--heads 0,3"),
        (["decoder", TEXT, "--heads", "7"], "has no such head"),
        (["decoder", TEXT, "--sites", "cross"], "there is no site"),
        (["decoder", TEXT, "--dtype", "float8"], "did you mean 'float"),
        (["transformer learned", "--file", "pairs.tsv", "--lines", "--target", "w1"], "brings its own target"),
        (["decoder", "-", "--lines"], "no line with words"),
    ],
)
def test_errors_leave_no_file(arguments: list[str], message: str, places: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "a.regard"
    result = run(places, "record", *arguments, "--out", str(file), given="")
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert not file.exists()


def test_only_a_recording_is_called_so(places: dict[str, str], tmp_path: Path) -> None:
    result = run(places, "record", "decoder", TEXT, "--out", str(tmp_path / "a.txt"))
    assert result.exit_code == 2
    assert "a.regard" in result.stderr


def test_maps_are_pooled_where_that_is_asked_for(places: dict[str, str], tmp_path: Path) -> None:
    for lines, calls in (([TEXT], 1), (["--file", "text.txt", "--lines"], 2)):
        file = tmp_path / f"{calls}.regard"
        assert run(places, "record", "decoder", *lines, "--pool", "--out", str(file)).exit_code == 0
        recording = Recording.load(file)
        assert [all(one.pooled is not None for one in call.maps.values()) for call in recording.calls] == [True] * calls
