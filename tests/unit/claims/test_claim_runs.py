"""Claims as they are run: seeds, settings, what is put back, what is stored, and what is refused."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.claims import NAMES, Claim, ClaimRun, Estimate, VerdictRule
from regard.claims.claim_names import ANY_MACHINE, claim_named
from regard.claims.draw.plot_svg import plot_svg
from regard.claims.draw.plot_terminal import plot_view
from regard.claims.estimates import exactly, mean_of
from regard.claims.measurement import BarPlot, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import FILES, Setting, check_folders
from regard.drawing.plain import as_text
from regard.errors import InputError, UnknownNameError

ROOT = Path(__file__).resolve().parents[3]


def drawn(setting: Setting, seed: int) -> tuple[float, int]:
    """A number that hangs on the seed alone, and how many threads drew it."""
    torch.manual_seed(seed)
    return float(torch.randn(64, 64).matmul(torch.randn(64, 64)).sum()), torch.get_num_threads()


def measure(setting: Setting) -> Measurement:
    values = [value for value, _ in setting.each(drawn, setting.seeds)]
    torch.manual_seed(1_234)  # a claim that leaves its mark
    table = ResultTable("T", ("what", "n"), (("a", mean_of(values)), ("open", math.inf), ("b", 3), ("<c>", "-")))
    plot = BarPlot("P", "n", (("a", mean_of(values)), ("b", exactly(-2.0))), ("mark", 1.0))
    return Measurement({"drawn": mean_of(values), "unknown": Estimate(math.nan, -math.inf, math.inf)}, (table,), plot)


ONE = Claim(
    name="drawn", statement="a < b", if_true="t", if_false="f", control="c", measure=measure,
    rule=VerdictRule("never", "always", lambda _: False, lambda _: True), tried=("what failed",),
)  # fmt: skip


def test_every_claim_says_what_it_must_in_sentences() -> None:
    for name in NAMES:
        one = claim_named(name)
        assert one.name == name
        for text in (one.statement, one.if_true, one.if_false, one.control, *one.tried):
            assert text[0].isupper(), (name, text)
            assert text.endswith("."), (name, text)
        assert one.rule.holds_if != one.rule.fails_if
        assert one.full_seeds >= 5 or one.full_seeds == one.seeds == 1, f"{name}: the full form has 5 or more seeds"


def test_a_name_that_is_none_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="softmax"):
        regard.claim("sofmax")


def test_seeds_are_the_claim_s_own_or_those_given() -> None:
    assert ClaimRun(ONE).run().provenance.seeds == (0, 1, 2)
    assert ClaimRun(ONE).run(full=True).provenance.seeds == (0, 1, 2, 3, 4)
    assert ClaimRun(ONE).run(seeds=[7, 3]).to_dict()["seeds"] == [7, 3]
    for wrong in ([], [1, 1]):
        with pytest.raises(InputError, match="seeds must differ"):
            ClaimRun(ONE).run(seeds=wrong)
    for wrong in ([-1], [0, 2**32]):
        with pytest.raises(InputError, match="a number from 0 on"):
            ClaimRun(ONE).run(seeds=wrong)


def test_a_claim_that_draws_once_names_the_one_seed_that_it_used() -> None:
    once = ClaimRun(replace(ONE, seeds=1, full_seeds=1))
    assert once.run(seeds=[7, 3]).provenance.seeds == (7,)
    assert once.run(seeds=[7, 3]).measurement.numbers["drawn"].value == drawn(Setting(), 7)[0]


def test_a_claim_that_says_it_draws_once_does() -> None:
    """And one that has several makes a run of each."""
    for name in NAMES:
        text = Path(import_module(f"regard.claims.tried.{name.replace('-', '_')}").__file__ or "").read_text("utf-8")
        several = "setting.each(run" in text or "by_variant(" in text or "in setting.seeds" in text
        assert several == (claim_named(name).seeds > 1), name


def test_what_any_machine_can_try_in_full_trains_nothing_and_times_nothing() -> None:
    for name in ANY_MACHINE:
        text = Path(import_module(f"regard.claims.tried.{name.replace('-', '_')}").__file__ or "").read_text("utf-8")
        assert not re.search(r"lab\.(fit|timing|families|variants)\b", text), name


def test_the_same_seeds_give_the_same_numbers_in_any_number_of_processes() -> None:
    alone, together = (ClaimRun(ONE).run(processes=count).measurement.numbers["drawn"] for count in (1, 2))
    assert alone == together
    assert alone != ClaimRun(ONE).run(seeds=[3, 4, 5]).measurement.numbers["drawn"]


def test_a_run_has_one_thread_and_puts_back_what_it_found() -> None:
    torch.set_num_threads(2)
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    setting = Setting((0,))
    assert [threads for _, threads in setting.each(drawn, (0, 1))] == [1, 1]
    torch.manual_seed(5)
    ClaimRun(ONE).run()
    assert torch.equal(torch.rand(3), wanted)
    assert torch.get_num_threads() == 2


def test_a_run_that_breaks_puts_back_what_it_found_too() -> None:
    def broken(_: Setting) -> Measurement:
        torch.set_num_threads(1)
        raise RuntimeError("no memory")

    torch.set_num_threads(2)
    with pytest.raises(RuntimeError, match="no memory"):
        ClaimRun(replace(ONE, measure=broken)).run()
    assert torch.get_num_threads() == 2


def test_progress_is_told_run_by_run() -> None:
    told: list[tuple[int, int]] = []
    ClaimRun(ONE).run(on_progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_real_text_is_asked_for_before_anything_is_measured(tmp_path: Path) -> None:
    def never(_: Setting) -> Measurement:
        raise AssertionError("measured without its text")

    run = ClaimRun(replace(ONE, measure=never, data=("multi30k", "sst2")))
    with pytest.raises(InputError, match="--data DIR, which holds multi30k/ and sst2/"):
        run.run(full=True)
    (tmp_path / "multi30k").mkdir()
    for file in FILES["multi30k"]:
        (tmp_path / "multi30k" / file).touch()
    with pytest.raises(InputError, match="there is no sst2"):
        run.run(full=True, data=tmp_path)


@pytest.mark.parametrize("folder", FILES)
def test_a_file_that_is_missing_is_named_at_once(folder: str, tmp_path: Path) -> None:
    (tmp_path / folder).mkdir()
    for file in FILES[folder]:
        with pytest.raises(InputError, match=f"there is no {re.escape(file)} in ") as caught:
            check_folders(tmp_path, [folder])
        assert all(one in caught.value.do for one in FILES[folder])
        (tmp_path / folder / file).touch()
    check_folders(tmp_path, [folder])


def test_every_folder_that_is_read_is_in_the_book() -> None:
    page = (ROOT / "docs" / "how-to" / "try-a-claim.md").read_text(encoding="utf-8")
    assert {name for one in NAMES for name in claim_named(one).data} == set(FILES)
    for folder, files in FILES.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{folder}` |"))
        assert all(f"`{file}`" in row or f"`{file.partition('.')[0]}`" in row for file in files)


def test_json_has_what_is_promised_and_no_infinity() -> None:
    facts = json.loads(json.dumps(ClaimRun(ONE).run(seeds=[0]).to_dict(), allow_nan=False))
    assert {"name", "verdict", "measured", "rule", "seeds"} < facts.keys()
    assert facts["verdict"] == "does not hold"
    assert facts["rule"] == "It holds if never; it does not if always; otherwise it holds in part."
    assert facts["measured"]["drawn"]["low"] is None
    assert facts["measured"]["unknown"] == {"value": None, "low": None, "high": None}
    assert facts["tables"][0]["rows"][1] == ["open", None]
    assert facts["remarks"] == ["what failed"]
    assert {"regard", "torch", "python", "seconds", "device", "full"} < facts["provenance"].keys()


def test_a_rule_that_says_yes_and_no_is_found_out() -> None:
    rule = VerdictRule("a", "b", lambda _: True, lambda _: True)
    with pytest.raises(AssertionError, match="yes and no"):
        rule.verdict({})


BOTH = VerdictRule(
    "both are positive", "both are negative",
    lambda numbers: all(one.above(0) for one in numbers.values()),
    lambda numbers: all(one.below(0) for one in numbers.values()),
)  # fmt: skip
SURELY, SURELY_NOT, OPEN = Estimate(1, 0.5, 2), Estimate(-1, -2, -0.5), Estimate(0.1, -1, 2)


@pytest.mark.parametrize(
    ("one", "other", "verdict", "undecided"),
    [
        (SURELY, SURELY, "holds", ()),
        (SURELY_NOT, SURELY_NOT, "does not hold", ()),
        (SURELY, SURELY_NOT, "holds in part", ()),
        (SURELY, OPEN, "holds in part", ("holds",)),
        (SURELY_NOT, OPEN, "holds in part", ("does not hold",)),
        (OPEN, OPEN, "holds in part", ("holds", "does not hold")),
        (mean_of([5.0]), SURELY, "holds in part", ("holds",)),
        (exactly(0.0), SURELY, "holds in part", ()),
    ],
)
def test_what_is_surely_so_in_part_is_told_from_what_is_not_known(
    one: Estimate, other: Estimate, verdict: str, undecided: tuple[str, ...]
) -> None:
    numbers = {"one": one, "other": other}
    assert BOTH.verdict(numbers) == verdict
    assert BOTH.undecided(numbers) == undecided


def test_an_undecided_verdict_is_shown_as_one() -> None:
    def unsure(_: Setting) -> Measurement:
        return Measurement({"one": OPEN, "other": SURELY}, (), BarPlot("P", "n", (("a", OPEN),)))

    result = ClaimRun(replace(ONE, measure=unsure, rule=BOTH)).run()
    assert result.to_dict()["undecided"] == ["holds"]
    for shown in (str(result), Checked(result.to_html().partition("\n")[2]).text):
        assert "Undecided: the intervals are wide, and more runs may show that it holds." in shown
    assert "Undecided" not in str(ClaimRun(ONE).run())


class Checked(HTMLParser):
    """Every tag that opens closes; the text is what people read."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(markup)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_stands_alone_and_escapes_what_it_shows(tmp_path: Path) -> None:
    page = ClaimRun(ONE).run().to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    shown = Checked(page.partition("\n")[2]).text
    for words in ("a < b", "does not hold", "If it were so", "Control", "<c>", "what failed", "0, 1, 2; quick form"):
        assert words in shown, words
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


LINES = LinePlot(
    "Title", "x", "y",
    (
        Series("one & two", ((1.0, Estimate(2, 1, 4)), (10.0, exactly(8.0)), (100.0, mean_of([3.0])))),
        Series("flat", ((1.0, exactly(2.0)), (100.0, exactly(2.0)))),
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    "plot",
    [
        LINES, replace(LINES, log_x=True), replace(LINES, log_x=True, log_y=True),
        replace(LINES, series=(Series("one point", ((3.0, exactly(0.0)),)),)),
        BarPlot("Bars", "n", (("below", Estimate(-3, -5, -1)), ("above", Estimate(2, 1, 9)), ("one", mean_of([1])))),
    ],
)  # fmt: skip
def test_plots_are_drawn_whatever_they_have(plot: LinePlot | BarPlot) -> None:
    """Open intervals, zeros on a logarithmic axis, one point: nothing lies outside, nothing is not a number."""
    drawn = plot_svg(plot)
    assert plot.title in Checked(drawn).text
    assert "nan" not in drawn
    assert "inf" not in drawn
    words = as_text(plot_view(plot))
    assert plot.title in words
    names = [series.name for series in plot.series] if isinstance(plot, LinePlot) else [name for name, _ in plot.bars]
    assert all(name in words for name in names)
