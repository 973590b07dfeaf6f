"""The sheet: numbers of every step, however the example begins, and every way of drawing it."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.worked import Sheet
from regard.worked.examples import names

KEYS = ["tokens", "x", "w_q", "w_k", "w_v", "q", "k", "v", "scores", "scaled", "weights", "output"]


def close(found: Any, wanted: Any, places: int = 3) -> None:
    torch.testing.assert_close(
        torch.tensor(found, dtype=torch.float64),
        torch.tensor(wanted, dtype=torch.float64),
        atol=0.51 * 10**-places,
        rtol=0,
    )


def test_i_love_ai_comes_out_as_worked_by_hand() -> None:
    sheet = regard.steps(example="i-love-ai").to_dict()
    assert list(sheet) == KEYS
    assert sheet["q"] == [[1, 0], [1, 1], [2, 1]]
    assert sheet["k"] == [[0, 1], [1, 0], [1, 1]]
    assert sheet["v"] == [[1, 2], [0, 1], [1, 3]]
    assert sheet["scores"] == [[0, 1, 1], [1, 1, 2], [1, 2, 3]]
    close(sheet["weights"][0], [0.1978, 0.4011, 0.4011], 4)
    close(sheet["output"], [[0.599, 2.000], [0.752, 2.255], [0.716, 2.292]])


def test_a_sentence_gets_numbers_that_stay_the_same() -> None:
    once, again = regard.steps("I love AI").to_dict(), regard.steps("I love AI").to_dict()
    assert once == again
    assert list(once) == ["made_up", *KEYS]
    assert regard.steps("I love AI", seed=1).to_dict() != once


def test_a_word_has_one_embedding_wherever_it_stands() -> None:
    x = regard.steps("the cat saw the dog").to_dict()["x"]
    assert x[0] == x[3]
    assert x[0] == regard.steps("dog eats the").to_dict()["x"][2]


def test_the_numbers_are_those_of_the_equation() -> None:
    sheet = regard.steps("one two three four", d=6, seed=3)
    x, w_q, w_k, w_v = (sheet.values[name] for name in ("x", "w_q", "w_k", "w_v"))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = (q @ k.T / math.sqrt(6)).softmax(-1)
    torch.testing.assert_close(sheet.values["weights"], weights)
    torch.testing.assert_close(sheet.values["output"], weights @ v)


def test_heads_get_an_axis_of_their_own_and_are_joined() -> None:
    sheet = regard.steps("I love AI", heads=2)
    data = sheet.to_dict()
    assert list(data) == ["made_up", *KEYS, "w_o", "z"]
    assert {name: tuple(sheet.values[name].shape) for name in ("q", "scores", "output", "z")} == {
        "q": (2, 3, 2), "scores": (2, 3, 3), "output": (2, 3, 2), "z": (3, 4)
    }  # fmt: skip
    torch.testing.assert_close(
        sheet.values["q"], (sheet.values["x"] @ sheet.values["w_q"]).reshape(3, 2, 2).transpose(0, 1)
    )
    joined = torch.cat([sheet.values["output"][0], sheet.values["output"][1]], -1)
    torch.testing.assert_close(sheet.values["z"], joined @ sheet.values["w_o"])


def test_causal_hides_later_words() -> None:
    weights = regard.steps("I love AI", causal=True).values["weights"]
    assert torch.equal(weights.triu(1), torch.zeros(3, 3, dtype=torch.float64))
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, dtype=torch.float64))


def test_ones_own_matrices_as_lists_or_tensors() -> None:
    q, k, v = torch.randn(2, 3), torch.randn(2, 3), torch.randn(2, 5)
    from_tensors = regard.steps(tokens=["a", "b"], q=q, k=k, v=v)
    from_lists = regard.steps(tokens=["a", "b"], q=q.tolist(), k=k.tolist(), v=v.tolist())
    torch.testing.assert_close(from_tensors.values["output"], from_lists.values["output"])
    assert "x" not in from_tensors.to_dict()


def test_a_sheet_reads_its_own_json(tmp_path: Path) -> None:
    for sheet in (
        regard.steps("I love AI", d=6, heads=3),
        regard.steps("I love AI"),
        regard.steps(example="hotel-rooms"),
        regard.steps("I love AI", causal=True, scale="1/3", positions=True, temperature=2),
        regard.steps("I love AI", scale="none", heads=2),
        regard.steps(tokens=["a", "b"], q=[[1, 2], [3, 4]], k=[[1, 0], [0, 1]], v=[[1], [2]], d_k=64),
    ):
        path = tmp_path / "numbers.json"
        path.write_text(sheet.to_json(), encoding="utf-8")
        again = regard.steps(file=path)
        assert again.to_dict() == sheet.to_dict()
        assert (again.scale, again.made_up) == (pytest.approx(sheet.scale), sheet.made_up)


def test_examples_that_begin_later_show_what_follows() -> None:
    thinking = regard.steps(example="thinking-machines").to_dict()
    assert list(thinking) == ["tokens", "queries", "scores", "scaled", "weights"]
    close(thinking["weights"], [[0.88, 0.12]], 2)
    python = regard.steps(example="python-executes-quickly").to_dict()
    close(python["output"], [[0.6, 0.6], [0.4, 0.7], [0.9, 0.9]])
    hotel = regard.steps(example="hotel-rooms").to_dict()
    assert 201 < hotel["output"][0][0] < 202


@pytest.mark.parametrize("name", names())
def test_every_example_prints_and_draws_itself(name: str) -> None:
    sheet = regard.steps(example=name)
    text, page, latex = str(sheet), sheet.to_html(), sheet.to_latex()
    for token in sheet.tokens:
        assert token in text
    assert "Softmax" in text or "weight of" in text
    assert sheet.title in page
    assert latex.count(r"\begin{align*}") == latex.count(r"\end{align*}") > 0
    assert sheet._repr_html_().startswith('<div class="regard">')


def test_the_row_of_a_query_is_worked_out_product_by_product() -> None:
    from regard.drawing.plain import as_text
    from regard.worked.sheet_terminal import sheet_view

    text = as_text(sheet_view(regard.steps(example="i-love-ai"), "love"))
    assert 'The row of "love"' in text
    assert "1×1 + 1×1 = 2" in text  # the score of AI
    assert "2 / 1.4142 = 1.4142" in text
    assert "4.1133 / 8.1695 = 0.5035" in text
    assert "= [0.7517  2.2552]" in text


class Tags(HTMLParser):
    """Every tag opened is closed, in order."""

    VOID = ("meta", "br", "link", "img", "input")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("options", [{}, {"heads": 2, "causal": True}])
def test_the_page_is_well_formed_and_needs_no_network(options: dict[str, Any]) -> None:
    page = regard.steps('<b> & "quotes" \'n such', **options).to_html(1)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "&lt;b&gt;" in page
    assert "<script" not in page
    assert not re.search(r"https?:|@import|url\(|src=|href=", page)
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_latex_escapes_words() -> None:
    latex = regard.steps("100% of_it {here} #1 a^b").to_latex()
    assert r"\text{100\%}" in latex
    assert r"\text{of\_it}" in latex
    assert r"\text{\{here\}}" in latex


@pytest.mark.parametrize("heads", [1, 2])
def test_latex_is_what_tex_takes(heads: int) -> None:
    """No double superscripts, no matrix too wide for its environment, every environment and bracket closed."""
    latex = regard.steps(" ".join("abcdefghijkl"), heads=heads, causal=True).to_latex()
    assert not re.search(r"\^\{[^{}]*\}\s*\^", latex)
    assert "bmatrix" not in latex
    assert latex.count(r"\begin{array}{*{12}{r}}") >= 4 * heads
    assert latex.count(r"\left") == latex.count(r"\right") > 0
    for name in ("align*", "array", "matrix"):
        assert latex.count(rf"\begin{{{name}}}") == latex.count(rf"\end{{{name}}}")
    assert latex.count("{") == latex.count("}")
    assert r"$\sqrt{d}$ = $\sqrt{" in latex


def test_unknown_words_and_rows_are_named() -> None:
    sheet = regard.steps("I love AI")
    assert sheet.row("love") == sheet.row(1) == sheet.row("1") == 1
    with pytest.raises(regard.RegardError, match="did you mean 'love'"):
        sheet.row("lov")
    with pytest.raises(regard.RegardError, match="no such row"):
        sheet.row(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": ""}, "tokens must be a list of words"),
        ({}, "tokens must be a list of words"),
        ({"text": "a b", "heads": 3}, "3 heads cannot share 4 dims"),
        ({"text": "a b", "heads": 0}, "heads must be a whole number"),
        ({"text": "a b", "d": 0}, "d must be a whole number"),
        ({"text": "a b", "example": "i-love-ai"}, "more than one source"),
        ({"example": "i-love-i"}, "did you mean 'i-love-ai'"),
        ({"file": "no-such-file.toml"}, "cannot read no-such-file.toml"),
        ({"text": "a b", "x": [[1, 2]]}, "x must have a row for each of its 2 words"),
        ({"text": "a b", "q": [[1], [2]], "k": [[1, 2], [3, 4]], "v": [[1], [2]]}, "equally wide"),
        ({"text": "a b", "x": [[1, "two"], [1, 2]]}, "must be a number"),
        ({"text": "a b", "width": 3}, "no key 'width'"),
        ({"text": "a b", "scale": 0}, "scale must be a number greater than 0"),
        ({"text": "a b", "scale": "sqrt"}, 'scale = "sqrt\\(d\\)" to divide by it'),
        ({"text": "a b", "scale": "1/0"}, "scale must be a number"),
        ({"text": "a b", "temperature": -1}, "temperature must be a number greater than 0"),
        ({"text": "a b", "temperature": True}, "temperature must be a number greater than 0"),
        ({"text": "a b", "positions": "learned"}, "positions must be sinusoidal"),
        ({"text": "a b", "positions": [[1, 2]]}, "positions must be as large as x"),
        ({"text": "a b", "positions": True, "d": 3}, "need an even d"),
        ({"text": "a", "q": [[1]], "k": [[1]], "v": [[1]], "positions": True}, "positions are added to x"),
        ({"text": "a b", "d": 4096}, "at most 100,000 numbers"),
        ({"text": "a b", "d": 10**9}, "at most 100,000 numbers"),
        ({"text": "word " * 200}, "at most 100,000 numbers"),
        ({"text": "word " * 60, "d": 16, "heads": 16}, "at most 100,000 numbers"),
        ({"text": "a", "x": torch.zeros(1, 400), "w_q": torch.zeros(400, 400)}, "at most 100,000 numbers"),
    ],
)
def test_bad_input_gets_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(regard.RegardError, match=message):
        regard.steps(**arguments)


def test_json_has_no_nan() -> None:
    for name in names():
        json.loads(regard.steps(example=name).to_json(), parse_constant=pytest.fail)


# Numbers that are made up


def test_made_up_numbers_are_called_so_on_every_surface() -> None:
    sheet = regard.steps("I love AI", heads=2)
    told = "The numbers of X, W_Q, W_K, W_V and W_O are made up, from the letters of each word and seed 0"
    assert sheet.made_up.startswith(told)
    assert "nothing was trained" in sheet.made_up
    assert sheet.made_up in " ".join(str(sheet).split())
    assert sheet.made_up == json.loads(sheet.to_json())["made_up"]
    for page in (sheet.to_html(), sheet._repr_html_()):
        assert sheet.made_up in page.replace("<sub>", "_").replace("</sub>", "")
    assert "are made up, from the letters of each word and seed 0" in sheet.to_latex()
    assert "seed 7" in str(regard.steps("I love AI", seed=7))


def test_only_what_is_made_up_is_called_so() -> None:
    part = regard.steps("a b", x=[[1, 0], [0, 1]], w_q=[[1, 0], [0, 1]], w_k=[[1, 0], [0, 1]])
    assert part.made_up.startswith("The numbers of W_V are made up, from seed 0: nothing was trained")
    for given in (regard.steps(example="i-love-ai"), regard.steps("a", q=[[1]], k=[[1]], v=[[1]])):
        assert given.made_up == ""
        assert "made up" not in str(given) + given.to_html() + given.to_latex() + given.to_json()


# How it is computed


def by_hand(sheet: Sheet, scale: float) -> torch.Tensor:
    x = sheet.values.get("x_p", sheet.values["x"])
    q, k = x @ sheet.values["w_q"], x @ sheet.values["w_k"]
    return (q @ k.T * scale).softmax(-1)


@pytest.mark.parametrize(
    ("options", "scale", "says"),
    [
        ({}, 0.5, "Divide by √d = √4 = 2"),
        ({"scale": "sqrt(d)"}, 0.5, "Divide by √d = √4 = 2"),
        ({"scale": "none"}, 1.0, "Nothing is scaled here"),
        ({"scale": 0.3}, 0.3, "Multiply by the scale c = 0.3"),
        ({"scale": "1/8"}, 0.125, "Multiply by the scale c = 0.125"),
        ({"temperature": 4}, 0.125, "Then divide by the temperature T = 4: the weights become more even"),
        ({"temperature": 0.5, "scale": "none"}, 2.0, "the weights become sharper"),
    ],
)
def test_scale_and_temperature(options: dict[str, Any], scale: float, says: str) -> None:
    sheet = regard.steps("I love AI", **options)
    torch.testing.assert_close(sheet.values["weights"], by_hand(sheet, scale))
    torch.testing.assert_close(sheet.values["scaled"], sheet.values["scores"] * scale)
    assert says in " ".join(str(sheet).split())
    for page in (sheet.to_html(), sheet.to_latex()):
        assert page.count("{") == page.count("}")


def test_the_row_shows_how_each_score_is_scaled() -> None:
    words = {"x": [[1, 0], [0, 1]], "w_q": [[2, 0], [0, 2]], "w_k": [[1, 0], [0, 1]], "w_v": [[1, 0], [0, 1]]}
    assert "scaled    a  2 × 0.3 = 0.6" in str(regard.steps("a b", **words, scale=0.3))
    assert "scaled    a  2 / 1.4142 = 1.4142" in str(regard.steps("a b", **words))
    assert "scaled    a" not in str(regard.steps("a b", **words, scale="none"))


def test_positions_are_added_and_shown() -> None:
    sheet = regard.steps("the cat the", positions=True)
    codes = sheet.values["positions"]
    wanted = [
        [f(place / 10000 ** (2 * (i // 2) / 4)) for i, f in enumerate((math.sin, math.cos) * 2)] for place in range(3)
    ]
    torch.testing.assert_close(codes, torch.tensor(wanted, dtype=torch.float64))
    torch.testing.assert_close(sheet.values["x_p"], sheet.values["x"] + codes)
    assert torch.equal(sheet.values["x"][0], sheet.values["x"][2])  # one word, one embedding
    torch.testing.assert_close(sheet.values["weights"], by_hand(sheet, 0.5))
    assert not torch.allclose(sheet.values["weights"][0], sheet.values["weights"][2])
    for shown in (str(sheet), sheet.to_html(), sheet.to_latex()):
        assert "X + P" in shown
    own = regard.steps("a b", x=[[1, 0], [0, 1]], positions=[[0, 1], [1, 0]])
    assert own.to_dict()["x_p"] == [[1, 1], [1, 1]]
    assert "positions" not in regard.steps("a b", positions=False).values


def test_a_file_may_say_how_and_an_option_goes_before_it(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('tokens = ["a", "b"]\nscale = "none"\ntemperature = 2\npositions = true\n', encoding="utf-8")
    sheet = regard.steps(file=path)
    assert (sheet.scale, sheet.temperature) == (0.5, 2.0)
    assert "x_p" in sheet.values
    changed = regard.steps(file=path, scale="sqrt(d)", temperature=1, positions=False)
    assert (changed.scale, changed.temperature) == (0.5, 1.0)
    assert "x_p" not in changed.values
    path.write_text('tokens = ["a", "b"]\nscale = 1\nd_k = 2\n', encoding="utf-8")
    with pytest.raises(regard.RegardError, match="d_k and scale"):
        regard.steps(file=path)


# A word that stands more than once


def test_a_word_that_stands_twice() -> None:
    sheet = regard.steps("the cat saw the dog")
    assert (sheet.row("the"), sheet.row("the:1"), sheet.row("the:2"), sheet.row("3")) == (0, 0, 3, 3)
    assert 'The row of "the (2 of 2)"' in sheet_text(sheet, "the:2")
    assert 'The row of "cat"' in sheet_text(sheet, "cat")
    for wrong, message in (
        ("the:3", "choose the:1 to the:2"),
        ("the:0", "choose the:1"),
        ("dgo:1", "there is no word"),
    ):
        with pytest.raises(regard.RegardError, match=message):
            sheet.row(wrong)
    assert regard.steps("a:2 b").row("a:2") == 0  # a word as it stands comes first


def sheet_text(sheet: Sheet, query: str) -> str:
    from regard.drawing.plain import as_text
    from regard.worked.sheet_terminal import sheet_view

    return as_text(sheet_view(sheet, query))


def test_positions_on_top_of_a_sheet_compute_q_k_and_v_again(tmp_path: Path) -> None:
    file = tmp_path / "sheet.json"
    file.write_text(regard.steps("the cat sat").to_json(), encoding="utf-8")
    asked, fresh = regard.steps(file=file, positions=True), regard.steps("the cat sat", positions=True)
    for name in ("q", "scores", "output"):
        torch.testing.assert_close(asked.values[name], fresh.values[name], atol=1e-6, rtol=0)  # as JSON has them
    without = regard.steps(q=[[1, 0], [0, 1]], k=[[1, 0], [0, 1]], v=[[1, 0], [0, 1]], text="a b")
    assert "positions" not in without.values
    with pytest.raises(regard.RegardError, match="positions are added to x"):
        regard.steps(q=[[1, 0], [0, 1]], k=[[1, 0], [0, 1]], v=[[1, 0], [0, 1]], text="a b", positions=True)
