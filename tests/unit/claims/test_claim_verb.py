"""`regard claim` as a person uses it: the list, one claim, all of them, files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from regard.claims import NAMES, VERDICTS, claim_names
from regard.cli import app
from regard.errors import InputError

RUNNER = CliRunner()
FEW = ("softmax", "sinusoids")


def run(*args: str) -> str:
    found = RUNNER.invoke(app, ["claim", *args])
    assert found.exit_code == 0, found.output
    return found.stdout


def refused(*args: str) -> str:
    found = RUNNER.invoke(app, ["claim", *args])
    assert found.exit_code != 0
    return found.output


def test_without_a_name_all_are_listed() -> None:
    listed = run()
    assert all(f"{name} " in listed for name in NAMES)
    rows = json.loads(run("--json"))
    assert [row["name"] for row in rows] == list(NAMES)
    assert all(row["statement"].endswith(".") for row in rows)


def test_one_is_tried_and_shown_with_its_verdict() -> None:
    shown = run("softmax")
    for words in ("If so", "If not", "Control", "Rule", "Seeds", "Verdict: holds", "smallest weight", "gap of the"):
        assert words in shown, words


def test_json_has_what_is_promised() -> None:
    facts = json.loads(run("sinusoids", "--json", "--seeds", "3"))
    assert facts["name"] == "sinusoids"
    assert facts["verdict"] in VERDICTS
    assert facts["seeds"] == [3]
    assert facts["rule"].startswith("It holds if ")
    assert set(facts["measured"]["radius"]) == {"value", "low", "high"}


def test_files_are_written_and_nothing_is_printed_then(tmp_path: Path) -> None:
    page, plot = tmp_path / "softmax.html", tmp_path / "softmax.svg"
    assert run("softmax", "--html", str(page), "--svg", str(plot)) == ""
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert plot.read_text(encoding="utf-8").startswith("<svg")
    assert run("softmax", "--svg", "-").startswith("<svg")


def test_all_are_tried_one_that_breaks_is_told_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"order_and_length.clause_pairs": InputError("no room", do="make some"), "qkv.by_variant": KeyError("x")}
    monkeypatch.setattr(claim_names, "NAMES", (*FEW, "order-and-length", "qkv"))
    for name, error in broken.items():
        monkeypatch.setattr(f"regard.claims.tried.{name}", Mock(side_effect=error))
    found = RUNNER.invoke(app, ["claim", "--all"])
    assert found.exit_code == 1
    assert "order-and-length: no room" in found.stderr
    assert "qkv: KeyError: 'x'" in found.stderr
    lines = found.stdout.splitlines()
    for name in FEW:
        assert any(name in line and "holds" in line for line in lines)
    for name in ("order-and-length", "qkv"):
        assert any(name in line and "could not be tried" in line for line in lines)


def test_all_on_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_names, "NAMES", (*FEW, "qkv"))
    monkeypatch.setattr("regard.claims.tried.qkv.by_variant", Mock(side_effect=KeyError("<x>")))
    found = RUNNER.invoke(app, ["claim", "--all", "--html", str(tmp_path / "all.html")])
    assert (found.exit_code, found.stdout) == (1, "")
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    for name in FEW:
        assert f'<a href="#{name}">' in page
        assert f'<article id="{name}">' in page
    assert page.count("<svg") == len(FEW)
    assert "KeyError: &#x27;&lt;x&gt;&#x27;</td><td>could not be tried" in page


def test_all_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_names, "NAMES", FEW)
    assert [facts["name"] for facts in json.loads(run("--all", "--json"))] == list(FEW)


def test_what_cannot_be_is_refused_in_words() -> None:
    assert "softmax" in refused("sofmax")
    assert "two things" in refused("softmax", "--all")
    assert "--html for all plots" in refused("--all", "--svg", "all.svg")
    assert "whole numbers" in refused("softmax", "--seeds", "a")
    assert "seeds must differ" in refused("softmax", "--seeds", "1,1")
    assert "--data DIR" in refused("better", "--full")
    assert "number from 0 on" in refused("softmax", "--seeds", "99999999999999999999")
    assert "only the full form" in refused("softmax", "--data", "somewhere")
    assert "--full --html without a name" in refused("--full", "--html", "page.html")
    assert refused("--all", "--seeds", "1,1").count("seeds must differ") == 1


def test_a_result_that_could_not_be_kept_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.claims.ClaimRun.run", Mock(side_effect=AssertionError("measured for nothing")))
    (tmp_path / "file").touch()
    (tmp_path / "folder.svg").mkdir()
    assert "cannot write" in refused("softmax", "--html", str(tmp_path / "file" / "page.html"))
    assert "cannot write" in refused("softmax", "--svg", str(tmp_path / "folder.svg"))
    assert "cannot write" in refused("--all", "--html", str(tmp_path / "file" / "page.html"))
    assert "only one form" in refused("softmax", "--json", "--svg")
    assert "only one form" in refused("softmax", "--html", "-", "--svg", "-")
    assert not (tmp_path / "page.html").exists()


def test_all_full_forms_ask_for_all_their_text_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.claims.ClaimRun.run", Mock(side_effect=AssertionError("measured for nothing")))
    said = refused("--all", "--full")
    assert "no --data" in said
    assert all(folder in said for folder in ("multi30k/", "sst2/", "tatoeba-en-fr/", "wikitext-2/"))
    assert "there is no multi30k" in refused("--all", "--full", "--data", str(tmp_path))


def test_a_full_form_that_trains_says_that_it_wants_a_gpu() -> None:
    assert "wants a GPU" in refused("better", "--full")
    assert "wants a GPU" not in refused("head-roles", "--full")
    assert "wants a GPU" not in refused("bettr", "--full")
