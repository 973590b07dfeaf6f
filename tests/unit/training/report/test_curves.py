"""Curves from a log: every row counts once, whatever happened to the run; the page stands alone."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from regard.drawing.panels import APART, apart, spanning, tick_words
from regard.training.report.curve_panels import NARROW, drawing, loss_lines, loss_range
from regard.training.report.curves import curves_html, curves_svg
from regard.training.report.run_log import POINTS, duration, read_run, score_name, score_words, smooth, thin

SVG = "{http://www.w3.org/2000/svg}"
Row = dict[str, Any]


def started(step: int = 0, steps: int = 100, recipe: str = "") -> Row:
    return {
        "event": "started", "step": step, "steps": steps, "parameters": 12345, "device": "cpu", "recipe": recipe
    }  # fmt: skip


def stepped(step: int, loss: Any = 2.0, rate: float = 1e-3) -> Row:
    return {
        "event": "step", "step": step, "steps": 100, "epoch": 1, "loss": loss, "rate": rate, "tokens_per_second": 9.0,
        "seconds": float(step), "left": 1.0,
    }  # fmt: skip


def validated(step: int, best: bool = False, samples: Any = (), **scores: Any) -> Row:
    return {
        "event": "valid", "step": step, "seconds": 7.0, "scores": scores, "best": best, "samples": samples
    }  # fmt: skip


RUN: list[Row] = [
    {"event": "note", "text": "dropped 3", "warning": False},
    started(),
    *(stepped(step, 5 - step / 25) for step in range(1, 101)),
    validated(50, True, loss=3.1, bleu=20.0, chrf=41.0),
    validated(100, loss=2.5, bleu=31.25, chrf=49.0, samples=[{"source": "A <b>", "reference": "R", "output": "O & O"}]),
    {"event": "finished", "step": 100, "seconds": 3723.0, "folder": "m", "why": "all steps done",
     "scores": {"valid": {"loss": 2.5, "bleu": 31.25}, "test2016": {"bleu": 30.0}}},
]  # fmt: skip


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> str:
    return " ".join("".join(text.itertext()) for text in parsed(svg).iter(f"{SVG}text"))


def paths(svg: str, kind: str) -> list[str]:
    return [path.get("d", "") for path in parsed(svg).iter(f"{SVG}path") if path.get("class") == f"line {kind}"]


def test_the_lines_are_named_at_their_ends() -> None:
    svg = curves_svg(RUN)
    for words in (
        "Loss",
        "training 1.0",
        "validation 2.500",
        "BLEU 31.25",
        "chrF 49.00",
        "Learning rate",
        "steps",
        "100",
    ):
        assert words in texts(svg)
    assert "prefers-color-scheme: dark" in svg
    assert "<script" not in svg
    assert not re.search(r'\b(href|src)="', svg)
    label = parsed(svg).get("aria-label", "")
    assert "100 steps" in label
    assert "validation BLEU 31.25" in label
    assert len(list(parsed(svg).iter(f"{SVG}circle"))) == 6 + 3  # each validation, and the best on each line


def test_the_page_stands_alone_and_says_everything() -> None:
    page = curves_html(RUN, "en <fr>", 'name = "x" # <&>')
    assert "<script" not in page
    assert not re.search(r'\b(href|src)="', page)
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"] * 2
    for words in (
        "<h1>en &lt;fr&gt;</h1>", "100 steps · 1:02:03 · 12,345 parameters · cpu · all steps done", "A &lt;b&gt;",
        "O &amp; O", "test2016", "# &lt;&amp;&gt;", "<summary>Recipe</summary>", "Samples at step 100",
    ):  # fmt: skip
        assert words in page
    steps = re.findall(r'<tr( class="best")?><th scope="row">(\d+)</th>', page)
    assert steps == [("", "100"), (' class="best"', "50")]


def test_the_recipe_is_that_of_the_last_start_unless_given() -> None:
    rows = [started(recipe="old = 1"), started(recipe="new = 2")]
    assert "new = 2" in curves_html(rows, "t")
    assert "old = 1" not in curves_html(rows, "t")
    assert "mine = 3" in curves_html(rows, "t", "mine = 3")
    assert "<summary>" not in curves_html([], "t")


def test_a_run_that_went_on_undoes_what_came_after_its_checkpoint() -> None:
    rows = [
        started(), *(stepped(step, 9.0) for step in range(1, 9)), validated(6, True, loss=9.0), validated(8, loss=9.0),
        {"event": "finished", "step": 8, "seconds": 8.0, "scores": {}},
        started(4), stepped(5, 1.0), stepped(6, 1.0), validated(6, loss=1.0),
    ]  # fmt: skip
    run = read_run(rows)
    assert run.curve("loss") == [*((step, 9.0) for step in range(1, 5)), (5, 1.0), (6, 1.0)]
    assert run.score("loss") == [(6, 1.0)]
    assert (run.best(), run.finished, run.last_step()) == (None, None, 6)
    assert curves_svg(rows).count("went on at 4") == 2


def test_the_later_row_of_a_step_wins_even_without_a_start() -> None:
    run = read_run([stepped(2, 5.0), stepped(1, 3.0), stepped(2, 4.0)])
    assert run.curve("loss") == [(1, 3.0), (2, 4.0)]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [started()],
        [stepped(10)],
        [validated(5, True, loss=2.0, bleu=0.0)],
        [stepped(step, math.nan) for step in range(5)],
        [stepped(step, None) for step in range(5)],
        [stepped(1, math.inf), stepped(2, -math.inf), stepped(3, 1.0)],
        [stepped(step, 1.0, rate=0.0) for step in range(5)],
        [validated(1), validated(2, loss="x", bleu=math.nan), {"event": "valid", "step": 3, "scores": None}],
        [stepped(0), {"event": "step"}, {"event": "step", "step": "2"}, {}, {"event": "finished"}, {"event": ["x"]}],
        [started(step=None), validated(1, loss=1, samples=["x", {}, {"output": None}])],  # type: ignore[arg-type]
        [validated(1, True, **{"<odd> & \"names\"": 0.5})],
        [stepped(step, 1e-9 * step, rate=1e-9) for step in range(5)],
        [stepped(step, 1e30 * step, rate=1e9) for step in range(5)],
    ],
)  # fmt: skip
def test_odd_logs_are_drawn_too(rows: list[Row]) -> None:
    for svg in (curves_svg(rows), drawing(read_run(rows), NARROW)):
        parsed(svg)
        assert not re.search(r"[ \"M]-?(nan|inf)\b", re.sub(r"<style>.*</style>", "", svg, flags=re.DOTALL))
    assert "</html>" in curves_html(rows, "t")


def test_nothing_yet() -> None:
    assert texts(curves_svg([])) == "no steps yet"


def test_losses_that_are_no_numbers_leave_a_gap_and_are_told() -> None:
    rows = [stepped(step, math.nan if step == 5 else 2.0) for step in range(10)]
    (line,) = paths(curves_svg(rows), "first")
    assert line.count("M") == 2
    assert "the loss is not a number in 1 of 10 rows" in curves_html(rows, "t")


def test_one_point_is_a_dot() -> None:
    assert 'class="dot first"' in curves_svg([stepped(10)])


def test_very_long_runs_are_thinned() -> None:
    rows = [started(steps=200_000), *(stepped(step, 1 + 100 / (step + 1)) for step in range(200_001))]
    rows += [validated(step, loss=1.0, bleu=2.0) for step in range(0, 200_001, 100)]
    svg = curves_svg(rows)
    assert len(svg) < 100_000
    for kind in ("first", "first raw", "second", "plain"):
        for path in paths(svg, kind):
            assert 2 <= path.count("L") + 1 <= POINTS
    points = [(float(step), 0.0) for step in range(12_345)]
    assert thin(points)[0] == points[0]
    assert thin(points)[-1] == points[-1]
    assert thin(points[:POINTS]) == points[:POINTS]
    assert len(set(thin(points))) == POINTS


def test_smoothing_keeps_what_is_straight() -> None:
    straight = [(float(step), 3.0) for step in range(100)]
    assert [value for _, value in smooth(straight)] == pytest.approx([3.0] * 100)
    noisy = [(float(step), 3.0 + (-1) ** step) for step in range(1000)]
    assert max(abs(value - 3) for _, value in smooth(noisy)[30:]) < 0.1
    assert smooth(noisy)[0] == noisy[0]
    assert smooth([]) == []


def test_the_first_steps_do_not_press_the_rest_flat() -> None:
    rows = [stepped(step, 10.0 if step < 30 else 2.0 + step / 1e4) for step in range(1000)]
    assert loss_range(loss_lines(read_run(rows))).high < 3


def test_scores_out_of_a_hundred_are_drawn_bleu_first() -> None:
    rows = [validated(step, loss=1.0, perplexity=2.7, accuracy=10.0 * step, bleu=1.0 * step) for step in (5, 9)]
    svg = curves_svg(rows)
    assert "accuracy 90.0 %" in texts(svg)
    assert "perplexity" not in texts(svg)
    assert re.search(r'class="name second"[^>]*>BLEU', svg)
    assert '<th scope="col">perplexity</th>' in curves_html(rows, "t")


def test_the_time_of_a_validation_is_that_of_the_steps_before() -> None:
    page = curves_html([stepped(10), stepped(20), validated(25, loss=1.0), validated(5, loss=2.0)], "t")
    assert re.findall(r'<th scope="row">(\d+)</th><td>(.*?)</td>', page) == [("25", "0:20"), ("5", "?")]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)), (1.5, 4.9, (1, 2, 3, 4, 5)), (0, 41, (0, 10, 20, 30, 40, 50)),
     (2, 2, (1, 1.5, 2, 2.5, 3)), (0, 0.0005, (0, 0.0001, 0.0002, 0.0003, 0.0004, 0.0005))],
)  # fmt: skip
def test_ticks_are_round(low: float, high: float, ticks: tuple[float, ...]) -> None:
    found = spanning(low, high)
    assert found.ticks == pytest.approx(ticks)
    assert (found.low, found.high) == pytest.approx((ticks[0], ticks[-1]))


def test_an_axis_that_ends_where_the_run_ends() -> None:
    found = spanning(0, 104, 5, whole=False)
    assert (found.low, found.high, found.ticks) == (0, 104, (0, 50, 100))


@pytest.mark.parametrize(
    ("ticks", "words"),
    [((0, 5000), ["0", "5,000"]), ((0, 20_000), ["0", "20k"]), ((0, 2_500_000), ["0", "2.5M"]),
     ((0, 0.5, 1), ["0", "0.5", "1.0"]), ((0, 5e-4), ["0", "0.0005"]), ((0, 5e-5), ["0", "5e−5"])],
)  # fmt: skip
def test_numbers_on_an_axis(ticks: tuple[float, ...], words: list[str]) -> None:
    assert tick_words(ticks) == words


def test_names_do_not_touch() -> None:
    moved = apart([100, 10, 101, 12, 199], 200)
    order = sorted(moved)
    assert [moved.index(place) for place in order] == [1, 3, 0, 2, 4]
    assert all(after - before >= APART - 1e-9 for before, after in pairwise(order))
    assert max(moved) <= 200


def test_words_for_scores_and_times() -> None:
    pairs = [("bleu", 31.256), ("loss", 2), ("accuracy", 50.0), ("x", 0.12), ("loss", None), ("nats_per_token", 1.0)]
    assert [score_words(*pair) for pair in pairs] == ["31.26", "2.000", "50.0 %", "0.12", "·", "1.0000"]
    assert [score_name(name) for name in ("bleu_lowercase", "macro_f1")] == ["BLEU lowercase", "macro F1"]
    assert [duration(s) for s in (7, 750, 3750, 183_600, math.nan)] == ["0:07", "12:30", "1:02:30", "2 d 3 h", "?"]


def test_rows_of_a_file_are_enough() -> None:
    again = [json.loads(json.dumps(row)) for row in RUN]
    assert curves_html(again, "t") == curves_html(RUN, "t")
