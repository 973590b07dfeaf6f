"""The check finds the wrong number, only the wrong number, and says where it went."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.worked.examples import names

STEPS = ("q", "k", "v", "scores", "scaled", "weights", "output")
LOVE = {
    "tokens": ["I", "love", "AI"],
    "x": [[1, 0], [0, 1], [1, 1]],
    "w_q": [[1, 0], [1, 1]],
    "w_k": [[0, 1], [1, 0]],
    "w_v": [[1, 2], [0, 1]],
}


def places(report: regard.Report) -> list[tuple[str, int, int | None]]:
    return [(mistake.step, mistake.row, mistake.column) for mistake in report.mistakes]


def stated(step: str, values: Any, **where: int) -> dict[str, Any]:
    return {"step": step, "values": values, **where}


def test_i_love_ai_has_exactly_its_three_slips() -> None:
    report = regard.check(example="i-love-ai")
    found = [(m.step, m.row, m.column, m.written, round(m.correct, 2)) for m in report.mistakes]
    assert found == [("v", 1, 0, 2.0, 0.0), ("scores", 1, 0, 0.0, 1.0), ("scaled", 1, 2, 0.71, 1.41)]
    assert not any(mistake.carried_into for mistake in report.mistakes)


def test_pizza_has_one_wrong_weight() -> None:
    (mistake,) = regard.check(example="pizza-is-awesome").mistakes
    assert (mistake.step, mistake.row, mistake.column) == ("weights", 0, 0)
    assert (mistake.written, mistake.correct, mistake.instead) == (0.38, 0.36, ())


@pytest.mark.parametrize("name", sorted(set(names()) - {"i-love-ai", "pizza-is-awesome"}))
def test_the_other_examples_are_right(name: str) -> None:
    report = regard.check(example=name)
    assert report.ok
    assert report.checked > 0
    assert not report.unchecked


def right_sheet(draw: st.DrawFn) -> dict[str, Any]:
    """A random example with every step stated, each number rounded to the same number of digits."""
    words, wide, d_k, d_v = (draw(st.integers(1, 3)) for _ in range(4))
    digits = draw(st.integers(2, 5))

    def matrix(rows: int, columns: int) -> list[list[float]]:
        return [[draw(st.integers(-20, 20)) / 10 for _ in range(columns)] for _ in range(rows)]

    inputs: dict[str, Any] = {"tokens": [f"word{i}" for i in range(words)]}
    inputs |= {"x": matrix(words, wide), "w_q": matrix(wide, d_k), "w_k": matrix(wide, d_k), "w_v": matrix(wide, d_v)}
    right = regard.steps(**inputs).to_dict()
    written = [stated(step, [[f"{cell:.{digits}f}" for cell in row] for row in right[step]]) for step in STEPS]
    return {**inputs, "stated": written}


@st.composite
def sheets_with_a_slip(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[str, int, int]]:
    sheet = right_sheet(draw)
    block = draw(st.sampled_from(sheet["stated"]))
    row = draw(st.integers(0, len(block["values"]) - 1))
    column = draw(st.integers(0, len(block["values"][0]) - 1))
    number = Decimal(block["values"][row][column])
    unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
    # Rounding can carry on over a few units of the last digit; ten are more than rounding.
    change = draw(st.integers(10, 3000)) * unit * draw(st.sampled_from((1, -1)))
    block["values"][row][column] = str(number + change)
    return sheet, (block["step"], row, column)


@settings(max_examples=60)
@given(st.composite(right_sheet)())
def test_a_right_sheet_has_no_mistakes(sheet: dict[str, Any]) -> None:
    assert regard.check(sheet).ok


@settings(max_examples=120)
@given(sheets_with_a_slip())
def test_one_changed_number_is_the_one_reported(slip: tuple[dict[str, Any], tuple[str, int, int]]) -> None:
    sheet, place = slip
    assert places(regard.check(sheet)) == [place]


def stated_only(draw: st.DrawFn, steps: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, int, int]]:
    """Only some steps are stated, with whole numbers first, and one of the later numbers is changed."""
    words = draw(st.integers(2, 3))
    whole = [[draw(st.integers(-3, 3)) for _ in range(words)] for _ in range(words)]
    given = {
        "tokens": [f"word{i}" for i in range(words)],
        "q": whole,
        "k": [[int(i == j) for j in range(words)] for i in range(words)],
    }
    right = regard.steps(**given, v=whole).to_dict()
    written = [
        stated(step, whole if step == "scores" else [[f"{c:.3f}" for c in row] for row in right[step]])
        for step in steps
    ]
    block = draw(st.sampled_from(written[1:]))
    row, column = draw(st.integers(0, words - 1)), draw(st.integers(0, words - 1))
    block["values"][row][column] = (
        f"{float(block['values'][row][column]) + draw(st.sampled_from((-0.5, 0.4, 1.0))):.3f}"
    )
    return {"tokens": given["tokens"], "d_k": words, "stated": written}, (block["step"], row, column)


@settings(max_examples=40)
@given(st.data())
def test_a_slip_is_found_though_nothing_is_given(data: st.DataObject) -> None:
    """Scores, scaled scores and weights depend on each other: one that fits neither neighbour is the wrong one."""
    sheet, place = stated_only(data.draw, ("scores", "scaled", "weights"))
    assert places(regard.check(sheet)) == [place]


def test_whole_numbers_stand_for_themselves() -> None:
    """No query of 1.6667 is made up to explain a score of 5."""
    sheet: dict[str, Any] = {"tokens": ["a", "b"]}
    sheet["stated"] = [
        stated("q", [[1, 2], [3, 4]]), stated("k", [[1, 0], [0, 1]]), stated("scores", [[1, 2], [3, 5]])
    ]  # fmt: skip
    (mistake,) = regard.check(sheet).mistakes
    assert (mistake.step, mistake.row, mistake.column, mistake.correct) == ("scores", 1, 1, 4)
    assert [(cell, value) for cell, value in mistake.instead] == [(("q", 1, 1), 5)]


@settings(max_examples=60)
@given(st.data())
def test_a_mistake_carried_on_with_full_precision_is_one_mistake(data: st.DataObject) -> None:
    """Whoever slipped went on computing with all digits, and rounded only when writing."""
    sheet = right_sheet(data.draw)
    right = regard.steps(**{name: value for name, value in sheet.items() if name != "stated"})
    scores = right.values["scores"].clone()
    row, column = data.draw(st.integers(0, len(scores) - 1)), data.draw(st.integers(0, len(scores) - 1))
    scores[row, column] += data.draw(st.sampled_from((-2.0, 1.0, 3.0)))
    scaled = scores * right.scale
    after = {"scores": scores, "scaled": scaled, "weights": scaled.softmax(-1)}
    after["output"] = after["weights"] @ right.values["v"]
    for block in sheet["stated"]:
        if block["step"] in after:
            digits = len(block["values"][0][0].partition(".")[2])
            block["values"] = [[f"{cell:.{digits}f}" for cell in line] for line in after[block["step"]].tolist()]
    assert places(regard.check(sheet)) == [("scores", row, column)]


def test_given_weights_must_sum_to_one() -> None:
    report = regard.check({"tokens": ["a", "b"], "weights": [["0.50", "0.90"], ["0.5", "0.5"]]})
    assert places(report) == [("weights", 0, None)]


def test_a_mistake_that_carries_on_is_reported_once() -> None:
    """V of love is [2, 1] instead of [0, 1], and the output was computed with it."""
    sheet = copy.deepcopy(LOVE)
    sheet["stated"] = [
        stated("v", [[1, 2], [2, 1], [1, 3]]),
        stated("output", [["1.401", "2.000"], ["1.248", "2.255"], ["1.284", "2.292"]]),
    ]
    report = regard.check(sheet)
    assert places(report) == [("v", 1, 0)]
    assert report.mistakes[0].carried_into == (("output", 0, 0), ("output", 1, 0), ("output", 2, 0))
    assert report.carried == 3


def test_a_mistake_carries_over_steps_that_are_not_stated() -> None:
    """The score (love, I) is 0 instead of 1, nothing is said of the scaled scores, and the weights follow from it."""
    sheet = copy.deepcopy(LOVE)
    sheet["stated"] = [
        stated("scores", [0, 1, 2], row=1),
        stated("weights", ["0.140", "0.284", "0.576"], row=1),
    ]
    report = regard.check(sheet)
    assert places(report) == [("scores", 1, 0)]
    assert [cell.step for cell in report.mistakes[0].carried_into] == ["weights"] * 3


def test_a_later_mistake_of_its_own_is_reported_beside_the_first() -> None:
    sheet = copy.deepcopy(LOVE)
    sheet["stated"] = [stated("v", [[1, 2], [2, 1], [1, 3]]), stated("output", ["0.9", "2.000"], row=0)]
    assert places(regard.check(sheet)) == [("v", 1, 0), ("output", 0, 0)]


def test_rounding_carries_on_harmlessly() -> None:
    """sqrt(2) as 1.41 and e^0.71 as 2.03 give 1 / 5.06 = 0.1976 where exact numbers give 0.1978."""
    sheet = copy.deepcopy(LOVE)
    sheet["stated"] = [
        stated("scaled", [["0", "0.71", "0.71"]]),
        stated("weights", ["0.1976", "0.4012", "0.4012"], row=0),
    ]
    assert regard.check(sheet).ok
    sheet["stated"][1]["values"][0] = "0.1950"
    assert places(regard.check(sheet)) == [("weights", 0, 0)]


def test_digits_set_the_tolerance() -> None:
    sheet = copy.deepcopy(LOVE)
    for text, fine in (("0.71", True), ("0.7", True), ("0.707", True), ("0.72", False), ("0.708", False), ("1", True)):
        sheet["stated"] = [stated("scaled", text, row=0, column=1)]
        assert regard.check(sheet).ok is fine, text


def test_without_inputs_the_fewest_mistakes_explain() -> None:
    """120 where 112 fits both the scaled score and the weights: it is the score that is wrong."""
    sheet = {"tokens": ["Thinking", "Machines"], "queries": ["Thinking"], "d_k": 64}
    sheet["stated"] = [
        stated("scores", [[120, 96]]), stated("scaled", [[14, 12]]), stated("weights", [["0.88", "0.12"]])
    ]  # fmt: skip
    (mistake,) = regard.check(sheet).mistakes
    assert (mistake.step, mistake.column, mistake.correct) == ("scores", 0, 112)


def test_a_wrong_query_is_found_from_the_scores() -> None:
    sheet = {"tokens": ["I", "love", "AI"]}
    sheet["stated"] = [
        stated("q", [[1, 0], [1, 2], [2, 1]]),
        stated("k", [[0, 1], [1, 0], [1, 1]]),
        stated("scores", [[0, 1, 1], [1, 1, 2], [1, 2, 3]]),
    ]
    (mistake,) = regard.check(sheet).mistakes
    assert (mistake.step, mistake.row, mistake.column, mistake.correct) == ("q", 1, 1, 1)


def test_when_nothing_decides_it_says_so() -> None:
    sheet = {"tokens": ["a", "b", "c"], "stated": [stated("weights", ["0.38", "0.40", "0.24"], row=0)]}
    report = regard.check(sheet)
    (mistake,) = report.mistakes
    assert (mistake.row, mistake.column, mistake.written) == (0, None, 1.02)
    assert [(cell.column, value) for cell, value in mistake.instead] == [(0, 0.36), (1, 0.38), (2, 0.22)]
    assert "nothing decides" in str(report)


def test_the_output_decides_which_weight_is_wrong() -> None:
    sheet = {"tokens": ["Pizza", "is", "awesome"], "v": [["0.6"], ["-0.35"], ["3.86"]]}
    sheet["stated"] = [stated("weights", ["0.36", "0.40", "0.34"], row=0), stated("output", ["1.00"], row=0)]
    (mistake,) = regard.check(sheet).mistakes
    assert (mistake.column, mistake.correct) == (2, 0.24)


def test_a_wrong_cell_stated_twice_is_reported_once() -> None:
    sheet = copy.deepcopy(LOVE)
    sheet["stated"] = [stated("q", 7, row=0, column=0), stated("q", [7, 0], row=0)]
    assert places(regard.check(sheet)) == [("q", 0, 0)]


def test_numbers_that_nothing_is_tied_to_are_named() -> None:
    """The weights of row 0 must sum to 1; nothing is known of row 1, so its output stands alone."""
    sheet: dict[str, Any] = {"tokens": ["a", "b"], "v": [[1], [2]]}
    sheet["stated"] = [stated("weights", ["0.5", "0.5"], row=0), stated("output", "3", row=1, column=0)]
    report = regard.check(sheet)
    assert report.ok
    assert report.checked == 2
    assert report.unchecked == (("output", 1, 0),)
    assert "1 number could not be checked" in str(report)


def test_causal_examples_hide_later_words() -> None:
    sheet = copy.deepcopy(LOVE) | {"causal": True}
    sheet["stated"] = [stated("weights", [["1", "0", "0"], ["0.5", "0.5", "0"]])]
    assert regard.check(sheet).ok


def test_report_as_json_has_the_promised_keys() -> None:
    data = json.loads(json.dumps(regard.check(example="i-love-ai").to_dict()))
    assert {"step", "row", "column", "written", "correct"} <= set(data["mistakes"][0])
    assert data["checked"] == 54


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"tokens": []}, "tokens must be a list of words"),
        ({}, "tokens must be a list of words"),
        ({**LOVE, "x": [[1, 0], [0], [1, 1]], "stated": []}, "x is ragged"),
        (
            {**LOVE, "w_q": [[1, 0]], "stated": [stated("q", 1, row=0, column=0)]},
            "w_q must have a row for each of the 2",
        ),
        (
            {**LOVE, "x": [[1, 0]], "stated": [stated("q", 1, row=0, column=0)]},
            "x must have a row for each of its 3 words",
        ),
        ({**LOVE, "wq": [[1]]}, "no key 'wq'"),
        ({**LOVE, "stated": [stated("score", [[1]])]}, "no step 'score'"),
        ({**LOVE, "stated": [stated("scores", 1)]}, "needs row and column"),
        ({**LOVE, "stated": [stated("scores", [1, 2, 3])]}, "needs to say which"),
        ({**LOVE, "stated": [stated("scores", [1, 2, 3, 4], row=0)]}, "goes beyond the tokens"),
        ({**LOVE, "stated": [stated("scores", [1], row=-1)]}, "row must be a whole number"),
        ({**LOVE, "stated": [stated("scores", "one", row=0, column=0)]}, "must be a number"),
        ({**LOVE, "stated": [stated("q", [[1, 2, 3]])]}, "larger than q"),
        ({**LOVE, "stated": [{"step": "q"}]}, "says no values"),
        ({**LOVE, "stated": "all of it"}, "stated must be a list of blocks"),
        ({**LOVE, "stated": []}, "states nothing to check"),
        ({**LOVE, "d_k": 0, "stated": []}, "d_k must be greater than 0"),
        ({**LOVE, "d_k": "-4", "stated": []}, "d_k must be greater than 0"),
        ({**LOVE, "causal": "no", "stated": []}, "causal must be true or false"),
        ({**LOVE, "sheet": 3, "stated": []}, "sheet must be a table"),
        ({**LOVE, "stated": [stated("scores", "36 %", row=0, column=0)]}, "0.36 for 36 %"),
        ({**LOVE, "stated": [stated("scores", "0,36", row=0, column=0)]}, "with a point"),
        ({**LOVE, "stated": [stated("scores", "1e999", row=0, column=0)]}, "must be a number"),
        ({**LOVE, "heads": 2, "stated": [stated("q", 1, row=0, column=0)]}, "one head"),
    ],
)
def test_a_malformed_example_gets_a_clear_error(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(regard.RegardError, match=message):
        regard.check(broken)


@pytest.mark.parametrize(
    "how", [{"scale": "none"}, {"scale": "1/3"}, {"temperature": 2}, {"positions": True}, {"positions": [[1, 0]] * 3}]
)
def test_what_a_file_says_of_the_computation_is_checked_with(how: dict[str, Any]) -> None:
    """A sheet of the same settings has no mistake, one of the usual settings has, and a wrong number is still found."""
    sheet = regard.steps(**LOVE, **how).to_dict()
    told = [stated(step, [[f"{cell:.4f}" for cell in row] for row in sheet[step]]) for step in STEPS]
    assert regard.check({**LOVE, **how, "stated": told}).ok
    assert not regard.check({**LOVE, "stated": told}).ok
    told[5]["values"][1][2] = "0.9999"
    assert places(regard.check({**LOVE, **how, "stated": told})) == [("weights", 1, 2)]
