"""`regard translate` on what people type: by the pipeline, with a glossary, or plain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from benchmarks import peers
from regard.cli import app

LINES = "The cat sleeps. The dog sleeps.\n\nTHE CAT SLEEPS!\n  - the cat sleeps {x}  \n"


def run(*arguments: object, given: str = LINES) -> Result:
    return CliRunner().invoke(app, ["translate", *map(str, arguments), "--device", "cpu"], input=given)


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("cat\tfélin\ndog\tchien\n", encoding="utf-8")
    return path


def test_lines_as_people_type_them() -> None:
    out = run("grammar").stdout.split("\n")
    assert out[0] == "Le chat dort. Le chien dort."
    assert out[1] == ""
    assert out[2].startswith("LE CHAT DORT")
    assert out[3].startswith("  - ")
    assert out[3].endswith(" {x}  ")


def test_the_tabs_of_a_line_stay() -> None:
    assert run("grammar", given="The cat sleeps.\tThe dog sleeps.\t\n").stdout == "Le chat dort.\tLe chien dort.\t\n"


def test_plain_is_the_bare_model() -> None:
    plain = run("grammar", "--plain", "--json").stdout.splitlines()
    assert (
        run("grammar", "--plain").stdout.splitlines()[0]
        == json.loads(plain[0])["translation"]
        != "Le chat dort. Le chien dort."
    )
    assert "score" in json.loads(plain[0])["nbest"][0]
    assert "doubt" not in json.loads(plain[0])


def test_json_shows_doubt_and_terms_that_could_not_be_used(terms: Path) -> None:
    result = run("grammar", "--json", "--glossary", terms)
    assert result.exit_code == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert list(answers[0]) == ["source", "translation", "cut", "doubt", "unused_terms"]
    assert answers[0]["unused_terms"] == ["cat"]  # a model without slots says what it says
    assert answers[1] == {"source": "", "translation": "", "cut": False, "doubt": 0.0, "unused_terms": []}
    assert 0 < answers[0]["doubt"] < answers[3]["doubt"] <= 1


def test_files_are_translated_alike(terms: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.txt"
    source.write_text(LINES, encoding="utf-8")
    for number, how in enumerate([[], ["--plain"], ["--json", "--glossary", terms], ["--nbest", 2]]):
        result = run("grammar", source, "--out", tmp_path / str(number), *how)
        assert result.exit_code == 0, result.stderr
        assert (tmp_path / str(number)).read_text(encoding="utf-8") == run("grammar", *how).stdout
    other = run("grammar", source, "--out", tmp_path / "0", "--plain")
    assert other.exit_code == 2
    assert "its pipeline: True, now False" in other.stderr


@pytest.mark.parametrize("how", [["--plain"], ["--nbest", "2"], ["--alignments"]])
def test_a_glossary_is_for_whole_texts(how: list[str], terms: Path) -> None:
    result = run("grammar", "--glossary", terms, *how)
    assert result.exit_code == 2
    assert "a glossary is for whole texts" in result.stderr


def test_a_glossary_with_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "bad.tsv").write_text("cat\n", encoding="utf-8")
    result = run("grammar", "--glossary", tmp_path / "bad.tsv")
    assert result.exit_code == 2
    assert "line 1: a term needs a source and a target" in result.stderr


def test_folders_of_hugging_face_stay_as_they_are(tmp_path: Path) -> None:
    peers.save(peers.marian(1), tmp_path / "marian", "seq2seq", num_beams=3, max_length=12)
    given = "w1 w2. W3\nW4 W5\n"
    assert run(tmp_path / "marian", given=given).stdout == run(tmp_path / "marian", "--plain", given=given).stdout
