"""`regard translate MODEL FILE --out FILE`, as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from regard.cli import app
from regard.cli.bulk import BulkBar, progress_words
from regard.tasks.bulk.translate_files import BulkProgress
from tests.subjects import ours


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(ours("transformer post", tmp_path_factory.mktemp("model")))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text("w1 w2\n\nw3\u2028w4\n", encoding="utf-8")
    return path


def run(model: str, *arguments: object) -> Result:
    how = ("--beams", "2", "--max-length", "5", "--device", "cpu")
    return CliRunner().invoke(app, ["translate", model, *map(str, arguments), *how], input="w1 w2\n\nw3\u2028w4\n")


def test_a_file_becomes_what_standard_input_becomes(model: str, source: Path, tmp_path: Path) -> None:
    result = run(model, source, "--out", tmp_path / "out.fr")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert f"wrote {tmp_path / 'out.fr'}: 3 lines" in result.stderr
    assert (tmp_path / "out.fr").read_text(encoding="utf-8") == run(model).stdout
    again = run(model, source, "--out", tmp_path / "out.fr", "--workers", 1)
    assert again.exit_code == 0
    assert "finished before, 3 lines" in again.stderr


def test_several_translations_and_json(model: str, source: Path, tmp_path: Path) -> None:
    assert run(model, source, "--out", tmp_path / "a", "--nbest", 2).exit_code == 0
    assert (tmp_path / "a").read_text(encoding="utf-8") == run(model, "--nbest", 2).stdout
    assert run(model, source, "--out", tmp_path / "b", "--json").exit_code == 0
    found = [json.loads(line) for line in (tmp_path / "b").read_text(encoding="utf-8").splitlines()]
    assert [one["source"] for one in found] == ["w1 w2", "", "w3\u2028w4"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SOURCE"], "needs their names and a place"),
        (["--out", "x.fr"], "needs their names and a place"),
        (["--workers", "2"], "workers and chunks are for files"),
        (["--anew"], "workers and chunks are for files"),
        (["nowhere.txt", "--out", "x.fr"], "nowhere.txt cannot be read"),
        (["SOURCE", "--out", "x.fr", "--alignments"], "alignments are read while translating standard input"),
        (["SOURCE", "--out", "SOURCE"], "written over itself"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do(
    arguments: list[str], words: str, model: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(model, *(str(source) if argument == "SOURCE" else argument for argument in arguments))
    assert result.exit_code == 2
    assert words in result.stderr
    assert "do: " in result.stderr
    assert not (tmp_path / "x.fr").exists()


def test_ctrl_c_says_how_to_go_on(model: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: BulkBar, progress: BulkProgress) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(BulkBar, "__call__", stop)
    result = run(model, source, "--out", tmp_path / "out.fr")
    assert result.exit_code == 130
    assert "the same command goes on" in result.stderr


def test_progress_in_words() -> None:
    assert progress_words(BulkProgress(1, 30, 100, 3_000, 0, 0.0)) == "1 of 30 chunks, 100 of 3,000 lines"
    words = progress_words(BulkProgress(12, 30, 1_200, 3_000, 100, 10.0))
    assert words == "12 of 30 chunks, 1,200 of 3,000 lines, 10.0 lines/s, 3:00 left"
    assert progress_words(BulkProgress(1, 9, 10, 90_010, 10, 1.0)).endswith("2:30:00 left")


def test_where_nobody_watches_a_line_comes_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 11.0, 11.0, 12.0])
    with BulkBar(lambda: next(times)) as bar:
        for chunks in range(1, 4):
            bar(BulkProgress(chunks, 3, chunks, 3, 0, 0.0))
    assert capsys.readouterr().err == "2 of 3 chunks, 2 of 3 lines\n"
