"""What the book says of a claim is what was measured: pages, the front table, and the rule that gives the verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.claims import NAMES, claim
from regard.claims.claim_names import ANY_MACHINE, claim_named
from regard.errors import UnknownNameError
from tools.book_claims import cell, claim_page, claim_pages, prose, verdict_table
from tools.book_results import FORMS, RESULTS, MeasureOptions, estimate_of, experiment, measure, sources, stored

KEPT = [(name, form) for form in FORMS for name in NAMES if (RESULTS / form / f"{name}.json").is_file()]


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_has_a_page_and_a_quick_result(name: str) -> None:
    assert f"claims/{name}.md" in claim_pages()
    assert stored(name, "quick") is not None, f"python -m tools.book --measure {name}"


def test_no_result_is_of_a_claim_that_is_not_there() -> None:
    kept = {path.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("*.*")}
    assert kept == {f"{form}/{name}.{kind}" for name, form in KEPT for kind in ("json", "svg")}


@pytest.mark.parametrize(("name", "form"), KEPT)
def test_a_verdict_is_what_the_rule_makes_of_the_numbers(name: str, form: str) -> None:
    facts, one = stored(name, form), claim_named(name)
    assert facts is not None
    again = f"python -m tools.book --measure {name}"
    assert (facts["statement"], facts["rule"]) == (one.statement, one.rule.words), again
    assert (facts["if_true"], facts["if_false"], facts["control"]) == (one.if_true, one.if_false, one.control), again
    numbers = {key: estimate_of(value) for key, value in facts["measured"].items()}
    assert one.rule.verdict(numbers) == facts["verdict"]
    assert list(one.rule.undecided(numbers)) == facts["undecided"]
    assert facts["provenance"]["full"] == (form == "full")
    assert facts["command"].startswith(f"regard claim {name}")


@pytest.mark.parametrize(("name", "form"), KEPT)
def test_a_page_has_the_numbers_of_its_result(name: str, form: str) -> None:
    facts, page = stored(name, form), claim_page(name)
    assert facts is not None
    part = page.partition("## The full form")[2 if form == "full" else 0]
    assert f"**Verdict:** [{facts['verdict']}]" in part
    rows = [line for line in part.splitlines() if line.startswith("| ")]
    for table in facts["tables"]:
        for row in table["rows"]:
            assert f"| {' | '.join(prose(cell(one)) for one in row)} |" in rows
    for word in (facts["command"], facts["date"], facts["provenance"]["torch"], facts["device_name"]):
        assert word in part


def test_the_front_table_has_the_verdicts_of_the_results() -> None:
    rows = [line.split(" | ") for line in verdict_table().splitlines()[3:] if line.startswith("| [")]
    assert [row[0].removeprefix("| [").partition("]")[0] for row in rows] == list(NAMES)
    for name, row in zip(NAMES, rows, strict=True):
        for form, shown in zip(FORMS, row[2:], strict=True):
            facts = stored(name, form)
            assert shown.startswith(f"[{facts['verdict']}]" if facts else "[not measured yet]")
            assert ("[undecided]" in shown) == bool(facts and facts["undecided"])


def test_the_front_page_says_how_much_of_the_full_forms_is_known() -> None:
    known = [name for name, form in KEPT if form == "full"]
    assert set(ANY_MACHINE) <= set(known), "what any machine can try in full has been"
    said = f"has been measured for {len(known)} of {len(NAMES)} claims" in verdict_table()
    assert said == (len(known) < len(NAMES))
    for name in NAMES:
        assert ("The full form (more seeds, larger models) is not measured yet" in claim_page(name)) == (
            name not in known
        )


def test_a_result_is_told_by_all_that_it_was_measured_with(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [path.name for path in sources("heads")]
    assert {"heads.py", "variants.py", "fit.py", "pair_task.py", "estimates.py"} <= set(names)
    assert "it.py" not in names
    before, read = experiment("heads"), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"# " * (path.name == "fit.py"))
    assert experiment("heads") != before


def test_measuring_keeps_the_result_with_its_command_and_date(tmp_path: Path) -> None:
    assert measure(["softmax"], MeasureOptions(out=tmp_path)) == []
    facts = stored("softmax", "quick", tmp_path)
    assert facts is not None
    result = claim("softmax").run()
    assert facts["command"] == "regard claim softmax"
    assert len(facts["date"]) == 10
    assert facts["verdict"] == result.verdict
    assert {name: estimate_of(one) for name, one in facts["measured"].items()} == result.measurement.numbers
    assert "</svg>" in facts["svg"]
    assert "has changed since" not in claim_page("softmax", tmp_path)
    path = tmp_path / "quick" / "softmax.json"
    path.write_text(path.read_text(encoding="utf-8").replace(facts["experiment"], "another"), encoding="utf-8")
    assert "has changed since: measured again" in claim_page("softmax", tmp_path)


def test_a_claim_that_breaks_is_named_and_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr("regard.claims.claim_result.ClaimRun.run", broken)
    assert measure(["softmax"], MeasureOptions(out=tmp_path)) == ["softmax"]
    assert not list(tmp_path.rglob("*.json"))
    with pytest.raises(UnknownNameError, match="softmax"):
        measure(["sofmax"], MeasureOptions(out=tmp_path))


def test_a_command_names_no_place() -> None:
    full = MeasureOptions(True, Path("/somewhere"), "cuda:0")
    assert full.command("better") == "regard claim better --full --data DIR --device cuda:0"
    assert full.command("softmax") == "regard claim softmax --full --device cuda:0"
    assert full.form == "full"


def test_what_was_not_run_is_said_with_the_command(tmp_path: Path) -> None:
    page = claim_page("softmax", tmp_path)
    assert "## The quick form\n\nIt is not measured yet:\n\n```sh\nregard claim softmax\n```" in page
    assert "is not measured yet. This command measures it:\n\n```sh\nregard claim softmax --full\n```" in page
    better = claim_page("better", tmp_path)
    assert "is not measured yet; it wants a GPU. This command" in better
    assert "regard claim better --full --data DIR --device cuda\n" in better
    assert "[holds]" not in page
    assert verdict_table(tmp_path).count("[not measured yet]{.not-run}") == 2 * len(NAMES)


def test_an_invented_result_is_shown_as_it_is(tmp_path: Path) -> None:
    """Whatever the verdict: both forms beside each other, open intervals, signs that Markdown would take."""
    (tmp_path / "full").mkdir()
    facts = {
        "name": "softmax", "statement": "a *b*", "verdict": "does not hold", "undecided": [],
        "rule": "x < 1", "seeds": [0, 1], "measured": {}, "if_true": "t", "if_false": "f", "control": "c",
        "remarks": ['"so"'],
        "command": "regard x",
        "tables": [{"title": "T", "columns": ["a|b", "n"],
                    "rows": [["x_y", {"value": 2.0, "low": None, "high": None}], ["z", None]]}],
        "date": "2026-01-01", "device_name": "a GPU",
        "provenance": {"regard": "0", "torch": "1", "python": "2", "seconds": 3.0, "full": True},
    }  # fmt: skip
    (tmp_path / "full" / "softmax.json").write_text(json.dumps(facts), encoding="utf-8")
    (tmp_path / "full" / "softmax.svg").write_text("<svg></svg>", encoding="utf-8")
    page = claim_page("softmax", tmp_path)
    for words in (
        "> a \\*b\\*", "[does not hold]{.verdict .does-not-hold}", "| a\\|b | n |",
        "| x\\_y | 2 (one run) |", "| z | – |",
        "Rule, written before the result\n: x \\< 1", "- “so”", "<svg></svg>", "on a GPU; seeds 0, 1; 3 s.",
    ):  # fmt: skip
        assert words in page, words
    assert "It is not measured yet" in page.partition("## The full form")[0]
