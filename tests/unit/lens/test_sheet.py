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
from regard.lens.worked.examples import names

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
    assert list(once) == KEYS
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
    assert list(data) == [*KEYS, "w_o", "z"]
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
    ):
        path = tmp_path / "numbers.json"
        path.write_text(sheet.to_json(), encoding="utf-8")
        assert regard.steps(file=path).to_dict() == sheet.to_dict()


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
    from regard.lens.draw.plain import as_text
    from regard.lens.draw.terminal import sheet_view

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
    ],
)
def test_bad_input_gets_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(regard.RegardError, match=message):
        regard.steps(**arguments)


def test_json_has_no_nan() -> None:
    for name in names():
        json.loads(regard.steps(example=name).to_json(), parse_constant=pytest.fail)
