"""`regard heads` as a person meets it, and the survey behind it: the same numbers as all texts at once."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from regard.cli import app
from regard.errors import InputError
from regard.lens.analysis.subject import open_subject
from regard.lens.analysis.survey import BATCH, SurveyText, batches, read_lines, survey
from regard.lens.head_kinds import MEASURES, Tally
from regard.lens.recording_api import Recording
from tests.bounds import small_apart
from tests.subjects import ours, theirs

LINES = [f"w{number} w2 w{number} w3" + " w4" * (number % 5) for number in range(20)]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("heads")
    folders = {name: ours(name, root) for name in ("transformer learned", "decoder", "encoder")}
    folders |= {name: theirs(name, root) for name in ("llama", "bart")}
    (root / "texts").write_text("\n".join(LINES) + "\n\n", encoding="utf-8")
    (root / "pairs").write_text("\n".join(f"{line}\tw9 w8" for line in LINES), encoding="utf-8")
    (root / "long").write_text("\n".join(["w1 w2", "w3 " * 90, "w4"]), encoding="utf-8")
    names = {path.name: str(path) for path in root.iterdir() if path.is_file()}
    return {**{name: str(path) for name, path in folders.items()}, **names}


def run(places: dict[str, str], *arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, [places.get(argument, argument) for argument in arguments], input=given)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(("name", "file"), [("decoder", "texts"), ("encoder", "texts"), ("llama", "texts"),
                                            ("transformer learned", "pairs"), ("bart", "pairs")])  # fmt: skip
def test_the_mean_over_many_texts_is_that_of_each_alone(name: str, file: str, places: dict[str, str]) -> None:
    result = run(places, "heads", name, "--texts", file, "--csv")
    assert result.exit_code == 0, result.stderr
    one, tally = open_subject(places[name], "cpu"), Tally()
    for line in LINES:
        tally.add(one.see(line, "w9 w8" if file == "pairs" else None).last)
    expected = tally.table().lines
    found = table(result.stdout)
    assert [(row["site"], int(row["head"])) for row in found] == [(line.site, line.head) for line in expected]
    for row, line in zip(found, expected, strict=True):
        for measure in MEASURES:
            number = getattr(line, measure)
            assert (math.isnan(number) and row[measure] == "nan") or float(row[measure]) == pytest.approx(
                number,
                abs=small_apart(8.0),  # of numbers up to the length of a text
            )


def test_the_table_in_the_terminal(places: dict[str, str], tmp_path: Path) -> None:
    result = run(places, "heads", "transformer learned", "--texts", "pairs")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].endswith("20 texts")
    assert sum(line.startswith("decoder.1.cross") for line in lines) == 1  # once for all its heads
    assert "–" in result.stdout
    by_entropy = run(
        places, "heads", "transformer learned", "--texts", "pairs", "--sort", "entropy"
    ).stdout.splitlines()
    numbers = [float(line.split()[2]) for line in by_entropy[2:26]]
    assert numbers == sorted(numbers, reverse=True)
    assert all(line.split()[0].count(".") == 2 for line in by_entropy[2:26])
    by_distance = run(
        places, "heads", "transformer learned", "--texts", "pairs", "--sort", "distance"
    ).stdout.splitlines()
    assert "cross" in by_distance[25]  # what has no distance comes last
    written = run(places, "heads", "decoder", "--texts", "texts", "--csv", str(tmp_path / "deep" / "h.csv"))
    assert written.stderr.startswith("wrote ")
    assert (tmp_path / "deep" / "h.csv").read_text(encoding="utf-8") == run(
        places, "heads", "decoder", "--texts", "texts", "--csv"
    ).stdout


def test_standard_input_and_limit(places: dict[str, str]) -> None:
    how = ("heads", "decoder", "--csv")
    assert (
        run(places, *how, "--texts", "-", given="\n".join(LINES)).stdout == run(places, *how, "--texts", "texts").stdout
    )
    few = run(places, *how, "--texts", "texts", "--limit", "3").stdout
    assert few == run(places, *how, "--texts", "-", given="\n".join(LINES[:3])).stdout


def test_a_source_alone_is_translated_greedily(places: dict[str, str]) -> None:
    found = table(run(places, "heads", "transformer learned", "--texts", "texts", "--limit", "1", "--csv").stdout)
    expected = open_subject(places["transformer learned"], "cpu").see(LINES[0], greedy=True).heads().lines
    assert [float(row["entropy"]) for row in found] == pytest.approx(
        [line.entropy for line in expected], abs=small_apart(3.0)
    )


def test_lines_that_are_too_long_are_left_out_and_named(places: dict[str, str]) -> None:
    result = run(places, "heads", "decoder", "--texts", "long")
    assert result.exit_code == 0
    assert "line 2" in result.stderr
    assert result.stdout.splitlines()[0].endswith("2 texts")
    assert run(places, "heads", "llama", "--texts", "long").stderr == ""


def test_a_recording_is_counted_as_it_is(places: dict[str, str], tmp_path: Path) -> None:
    seen = open_subject(places["decoder"], "cpu").see(LINES[0])
    seen.save(tmp_path / "a.regard")
    found = table(run(places, "heads", str(tmp_path / "a.regard"), "--csv").stdout)
    expected = Recording.load(tmp_path / "a.regard").heads().lines
    assert [float(row["top_weight"]) for row in found] == [line.top_weight for line in expected]
    assert "1 call" in run(places, "heads", str(tmp_path / "a.regard")).stdout
    assert run(places, "heads", str(tmp_path / "a.regard"), "--texts", "texts").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["decoder"], "--texts FILE"),
        (["decoder", "--texts", "nowhere"], "cannot read nowhere"),
        (["decoder", "--texts", "texts", "--sort", "entrpy"], "did you mean 'entropy'"),
        (["decoder", "--texts", "-"], "there is no text"),
    ],
)
def test_errors_say_what_to_do_and_exit_with_2(arguments: list[str], message: str, places: dict[str, str]) -> None:
    result = run(places, "heads", *arguments, given="\n \n")
    assert result.exit_code == 2, result.output
    assert message in result.stderr


def test_long_sites_give_way_to_the_columns(places: dict[str, str]) -> None:
    shown = run(places, "heads", "bart", "--texts", "pairs").stdout
    assert {"head", "entropy", "distance", "itself", "previous", "induction"} <= set(shown.splitlines()[1].split())


# The survey


def test_all_too_long(places: dict[str, str]) -> None:
    with pytest.raises(InputError, match="no text is short enough"):
        survey(open_subject(places["decoder"], "cpu"), [SurveyText(1, "w3 " * 90)])


def test_progress_is_told(places: dict[str, str]) -> None:
    told: list[tuple[int, int]] = []
    lines = read_lines(iter(LINES), pair=False)
    found = survey(open_subject(places["decoder"], "cpu"), lines, lambda done, total: told.append((done, total)))
    assert told[-1] == (20, 20)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert (found.texts, found.too_long) == (20, [])
    with pytest.raises(InputError, match="no text"):
        survey(open_subject(places["decoder"], "cpu"), [])


def test_lines_are_read_with_their_numbers() -> None:
    given = ["a b\tc d", "", "e", " \tx"]
    assert read_lines(iter(given), pair=True) == [SurveyText(1, "a b", "c d"), SurveyText(3, "e")]
    assert read_lines(iter(given), pair=False) == [SurveyText(1, "a b\tc d"), SurveyText(3, "e"), SurveyText(4, " \tx")]


def test_batches_are_small_and_of_one_kind() -> None:
    lines = [SurveyText(number, "a") for number in range(BATCH + 1)] + [
        SurveyText(99, "a", "b"),
        SurveyText(100, "x" * 9999),
        SurveyText(101, "y"),
    ]
    sizes = [len(some) for some in batches(lines)]
    assert sizes == [BATCH, 1, 1, 1, 1]
    assert [line for some in batches(lines) for line in some] == lines
