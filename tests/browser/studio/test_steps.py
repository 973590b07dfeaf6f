"""The page Steps by clicking and typing; every number on the screen is the one of `regard.attend`."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from tests.browser.studio.screen import Screen, number

SHOWN = 0.5e-3 + 1e-9  # half a unit of the third decimal
WIDE = 0.5e-2 + 1e-9  # of the second, in wide matrices


def same(shown: list[list[float]], true: Any, apart: float = SHOWN) -> None:
    wanted = torch.as_tensor(true, dtype=torch.float64)
    torch.testing.assert_close(torch.tensor(shown, dtype=torch.float64), wanted, atol=apart, rtol=0, equal_nan=True)


def test_the_page_opens_with_the_lectures_example(screen: Screen) -> None:
    screen.open()
    sheet = regard.steps(example="i-love-ai")
    for step in ("x", "w_q", "w_k", "w_v", "q", "k", "v", "scores", "scaled", "weights", "output"):
        same(screen.number_table(step), sheet.values[step])
    assert "regard steps --example i-love-ai" in screen.text(".command")


def test_typing_a_sentence_and_changing_every_setting(screen: Screen) -> None:
    """Words, numbers, heads, mask, positions, scale, temperature: each at once, all as regard has them."""
    screen.open()
    screen.page.get_by_label("Numbers", exact=True).select_option(label="Made up from the letters")
    screen.page.get_by_label("Sentence").fill("The animal was tired")
    asked: dict[str, Any] = {}
    compare(screen, asked)
    screen.page.get_by_role("radiogroup", name="Heads").get_by_text("2", exact=True).click()
    compare(screen, asked | {"heads": 2}, head=0)
    screen.find("#step-softmax").get_by_role("radiogroup").get_by_text("2", exact=True).click()
    compare(screen, asked | {"heads": 2}, head=1)
    screen.find(".controls-card").get_by_role("switch", name="Mask the future").click(force=True)
    compare(screen, asked | {"heads": 2, "causal": True}, head=1)
    screen.find(".controls-card").get_by_role("switch", name="Positions").click(force=True)
    compare(screen, asked | {"heads": 2, "causal": True, "positions": True}, head=1)
    screen.page.get_by_role("radiogroup", name="Scale").get_by_text("none").click()
    compare(screen, asked | {"heads": 2, "causal": True, "positions": True, "scale": "none"}, head=1)
    screen.page.get_by_label("Temperature").fill("0.3")
    temperature = number(screen.text("output"))
    assert temperature == 2
    settings = {"heads": 2, "causal": True, "positions": True, "scale": "none", "temperature": 2}
    compare(screen, settings, head=1)
    assert {"scale": "none", "t": "2"}.items() <= screen.params().items()
    screen.page.reload()  # the address has all of it
    screen.page.wait_for_selector("[data-step=z]")
    compare(screen, settings, head=1)


def compare(screen: Screen, settings: dict[str, Any], head: int = 0) -> None:
    sheet = regard.steps("The animal was tired", **settings)
    for step in ("scores", "scaled", "weights", "output"):
        values = sheet.values[step]
        same(screen.number_table(step, head), values[head] if values.ndim == 3 else values)
    if sheet.heads > 1:
        same(screen.number_table("z"), sheet.values["z"])
    if sheet.causal:
        assert screen.number_table("masked", head)[0][1:] == [-math.inf] * 3


def test_the_back_button_takes_back_setting_by_setting(screen: Screen) -> None:
    screen.open()
    screen.page.get_by_label("Numbers", exact=True).select_option("hotel-rooms")
    screen.find(".controls-card").get_by_role("switch", name="Mask the future").click(force=True)
    assert screen.params() == {"example": "hotel-rooms", "mask": "causal"}
    screen.page.wait_for_selector("[data-step=masked]")
    screen.page.go_back()
    screen.page.wait_for_selector("[data-step=masked]", state="detached")
    assert screen.params() == {"example": "hotel-rooms"}
    screen.page.go_back()
    screen.eventually(screen.params, lambda found: found == {})


def test_a_changed_number_changes_all_that_follows(screen: Screen) -> None:
    """By keyboard alone: to the cell, type, Enter; then taken back."""
    screen.open()
    screen.cell("x", 0, 0).focus()
    screen.page.keyboard.press("ArrowDown")
    screen.page.keyboard.type("2.5")
    screen.page.keyboard.press("Enter")
    x = torch.tensor([[1, 0], [2.5, 1], [1, 1]], dtype=torch.float64)
    query, key, value = (regard.steps(example="i-love-ai").values[name] for name in ("w_q", "w_k", "w_v"))
    output, steps = regard.attend((x @ query)[None], (x @ key)[None], (x @ value)[None], see="steps")
    same(screen.number_table("weights"), steps.weights[0])
    same(screen.number_table("output"), output[0])
    assert screen.params()["edit"] == "x:0,1,0=2.5"
    screen.page.keyboard.press("ArrowUp")
    screen.page.keyboard.press("Delete")
    same(screen.number_table("output"), regard.steps(example="i-love-ai").values["output"])


def test_a_score_put_there_by_hand(screen: Screen) -> None:
    screen.open()
    screen.cell("scores", 1, 2).click()
    screen.page.get_by_label("Change it").fill("5")
    scores = regard.steps(example="i-love-ai").values["scores"].clone()
    scores[1, 2] = 5
    same(screen.number_table("weights"), (scores / math.sqrt(2)).softmax(-1))
    screen.button("Take back").click()
    same(screen.number_table("weights"), regard.steps(example="i-love-ai").values["weights"])


def test_pointing_at_a_number_spells_it_out(screen: Screen) -> None:
    screen.open()
    screen.cell("scores", 2, 1).hover()
    told = [text.split() for text in screen.page.locator(".explain .terms tbody tr").all_inner_texts()]
    assert told == [["1", "2", "×", "1", "=", "2"], ["2", "1", "×", "0", "=", "0"]]
    assert screen.text(".explain .value") == "2"
    lit = screen.page.eval_on_selector_all(".lit", "found => found.map(one => one.closest('table').dataset.step)")
    assert lit == ["q", "q", "k", "k"]
    screen.cell("weights", 0, 1).hover()
    said = screen.text(".explain")
    powers = [math.exp(score) for score in (0, 1 / math.sqrt(2), 1 / math.sqrt(2))]
    for power in (*powers, sum(powers), powers[1] / sum(powers)):
        assert f"{power:.4f}".rstrip("0").rstrip(".") in said
    screen.cell("output", 1, 0).hover()
    products = [number(text.split("= ")[1]) for text in screen.page.locator(".explain .equals").all_inner_texts()]
    assert sum(products) == pytest.approx(number(screen.text(".explain .value")), abs=2e-4)


def test_the_notes_mistakes_are_marked_and_put_right(screen: Screen) -> None:
    screen.open()
    screen.page.get_by_label("Numbers", exact=True).select_option("i-love-ai")
    report = regard.check(example="i-love-ai")
    assert screen.page.locator(".mistaken").count() == len(report.mistakes) == 3
    for mistake in report.mistakes:
        assert mistake.column is not None
        cell = screen.cell(mistake.step, mistake.row, mistake.column)
        assert cell.locator("s").inner_text().endswith(mistake.text)
    screen.find(".mistakes button").nth(2).click()
    assert "They have 0.71; it should be 1.4142" in screen.text(".explain")
    assert screen.params() == {"example": "i-love-ai", "cell": "scaled:0,1,2"}


@pytest.mark.parametrize("name", ["hotel-rooms", "pizza-is-awesome", "python-executes-quickly", "thinking-machines"])
def test_each_worked_example(screen: Screen, name: str) -> None:
    screen.open(example=name)
    screen.page.wait_for_selector(".mistakes")
    sheet = regard.steps(example=name)
    for step, values in sheet.values.items():
        same(screen.number_table(step), values, WIDE)


def test_checking_what_a_learner_computed(screen: Screen) -> None:
    screen.open()
    screen.page.get_by_text("Check my numbers").click()
    assert "0 of 51 right" in screen.text(".progress")
    screen.cell("q", 0, 0).click()
    for typed in ("1", "0", "1", "1", "2", "2"):  # the last one is wrong
        screen.page.keyboard.type(typed)
        screen.page.keyboard.press("Tab")
    screen.cell("scaled", 0, 1).click()
    screen.page.keyboard.type("0,71")
    screen.page.keyboard.press("Enter")
    screen.page.wait_for_selector(".wrong")
    assert "6 of 51 right, 1 to look at again" in screen.text(".progress")
    assert screen.cell("q", 2, 1).get_attribute("aria-invalid") == "true"
    # Worked out rightly from the wrong number: the score of AI and I is 2·0 + 2·1, so regard check blames only Q.
    with screen.page.expect_response("**/api/check"):
        screen.cell("scores", 2, 0).click()
        screen.page.keyboard.type("2")
        screen.page.keyboard.press("Enter")
    screen.page.wait_for_selector("[data-step=scores] .follows")
    assert screen.cell("scores", 2, 1).inner_text().strip() == "to be typed"
    screen.cell("scores", 2, 1).hover()
    assert "= ?" in screen.text(".explain")  # the products to be made, and nothing given away
    screen.button("Clear all").click()
    assert "0 of 51 right" in screen.text(".progress")


def explained(screen: Screen, step: str, row: int, column: int) -> str:
    """What is said of a number that is pointed at, on one line."""
    screen.cell(step, row, column).hover()
    screen.page.wait_for_selector(f".explain[data-cell='{step}:0,{row},{column}']")
    return " ".join(screen.text(".explain").split())


def texts(screen: Screen, step: str) -> list[list[str]]:
    """A matrix as it stands on the screen, also where it has no numbers."""
    rows = screen.page.locator(f"[data-step={step}][data-head='0'] tbody tr").all()
    return [[text.strip() for text in row.locator("td.cell").all_inner_texts()] for row in rows]


def saved(screen: Screen, card: str, folder: Path) -> list[dict[str, Any]]:
    """The numbers of a step, as its menu gives them."""
    screen.find(f"{card} summary").click()
    with screen.page.expect_download() as loading:
        screen.find(card).get_by_role("button", name="Table, JSON", exact=True).click()
    loading.value.save_as(folder / "step.json")
    found: list[dict[str, Any]] = json.loads((folder / "step.json").read_text(encoding="utf-8"))
    return found


def test_a_check_gives_no_number_away_before_it_is_found(screen: Screen, tmp_path: Path) -> None:
    """Neither in what goes into another number, nor in a matrix that would tell it."""
    screen.open(mode="check", mask="causal", heads=1)
    assert "1 ? × ? = ? 2 ? × ? = ?" in explained(screen, "scores", 2, 1)
    assert "? / 1.4142" in explained(screen, "scaled", 2, 1)
    assert "love e? = ?" in explained(screen, "weights", 2, 1)
    assert "love ? × ? = ?" in explained(screen, "output", 2, 1)
    masked = texts(screen, "masked")
    assert masked == [["?", "−∞", "−∞"], ["?", "?", "−∞"], ["?", "?", "?"]]
    assert "?" in explained(screen, "masked", 2, 1).split()
    screen.cell("masked", 2, 1).dblclick()
    assert screen.page.locator("[data-step=masked] input").count() == 0
    exported = saved(screen, "#step-score", tmp_path)
    assert {row["value"] for row in exported if row["step"] == "scores"} == {None}
    for column, typed in enumerate(("2", "7")):  # right and wrong
        screen.cell("q", 2, column).click()
        screen.page.keyboard.type(typed)
        screen.page.keyboard.press("Enter")
    assert "1 2 × ? = ? 2 7 × ? = ?" in explained(screen, "scores", 2, 1)  # what the learner has, right or wrong
    screen.cell("scaled", 2, 1).click()
    screen.page.keyboard.type("1.414")
    screen.page.keyboard.press("Enter")
    assert texts(screen, "masked")[2] == ["?", "1.414", "?"]


def test_a_check_of_several_heads_gives_no_output_away(screen: Screen) -> None:
    screen.open(mode="check", heads=2)
    for step in ("concat", "z"):
        assert {cell for row in texts(screen, step) for cell in row} == {"?"}
    assert "? ×" in explained(screen, "z", 0, 0)
    for head in (0, 1):
        screen.find("#step-mix").get_by_role("radiogroup").get_by_text(str(head + 1), exact=True).click()
        true = regard.steps(example="i-love-ai", heads=2).values["output"][head, 0, 0]
        screen.cell("output", 0, 0, head).click()
        screen.page.keyboard.type(f"{float(true):.6f}")
        screen.page.keyboard.press("Enter")
    assert "?" not in texts(screen, "concat")[0]
    assert "?" not in texts(screen, "z")[0]
    assert set(texts(screen, "z")[1]) == {"?"}


def test_the_tour_can_be_walked_and_left(screen: Screen) -> None:
    screen.open()
    screen.page.get_by_text("Guided tour").click()
    titles = []
    for place in range(6):
        titles.append(screen.text(".tour h2"))
        assert screen.text(".count") == f"Step {place + 1} of 6"
        if place < 5:
            screen.button("Next").click()
    assert titles == ["Project", "Score", "Scale", "Mask", "Softmax", "Mix"]
    screen.page.go_back()
    assert screen.text(".tour h2") == "Softmax"
    screen.page.keyboard.press("ArrowLeft")
    screen.button("Mask the future").click()
    assert screen.number_table("masked")[0][1:] == [-math.inf, -math.inf]
    screen.button("Leave the tour").click()
    screen.page.wait_for_selector(".equation")
    assert screen.params() == {"mask": "causal"}


@pytest.mark.parametrize("lang", ["en", "fr"])
@pytest.mark.parametrize("step", range(1, 7))
def test_a_step_of_the_tour_is_one_screen(screen: Screen, step: int, lang: str) -> None:
    """Words, numbers, how they came about, and the way on, without scrolling on a laptop."""
    screen.page.set_viewport_size({"width": 1280, "height": 720})
    screen.open(lang=lang, mode="tour", step=step)
    parts = screen.page.locator(".tour .step, .tour aside, .tour .moves")
    bottoms = parts.evaluate_all("found => found.map(one => one.getBoundingClientRect().bottom)")
    assert len(bottoms) == 3
    assert max(bottoms) <= 720


def test_it_ends_with_a_way_to_a_trained_model(screen: Screen) -> None:
    screen.open(mode="tour", step=6)
    screen.page.get_by_role("link", name="which word did “it” stand for").click()
    screen.page.get_by_role("group", name="Read", exact=True).get_by_text("it", exact=True).wait_for()
    assert screen.page.get_by_label("Model", exact=True).input_value() == "en-fr"


def test_the_equation_leads_to_its_steps_at_once_where_motion_is_unwelcome(screen: Screen) -> None:
    screen.open()
    screen.page.locator(".equation").get_by_role("button", name="softmax").click()
    there = screen.page.evaluate("scrollY")
    assert there > 0
    screen.page.wait_for_timeout(500)
    assert screen.page.evaluate("scrollY") == there


def test_nothing_is_left_free_under_the_page_on_a_phone(screen: Screen) -> None:
    """Until a number is explained at the foot of the screen: then the last line can be scrolled out from under it."""
    screen.phone()
    screen.open()
    last = "document.querySelector('.command').getBoundingClientRect().bottom"
    free = f"document.documentElement.scrollHeight - (scrollY + {last})"
    assert screen.page.evaluate(free) < 200
    screen.cell("x", 0, 0).click()
    dock = screen.page.wait_for_selector(".dock")
    assert dock is not None
    assert screen.page.evaluate(free) >= dock.evaluate("dock => dock.clientHeight")


def test_pictures_and_tables_to_take_along(screen: Screen, tmp_path: Path) -> None:
    screen.open()
    weights = regard.steps(example="i-love-ai").values["weights"]
    files = {}
    for kind in ("Picture, SVG", "Picture, PNG", "Table, CSV", "Table, JSON"):
        screen.find("#step-softmax summary").click()
        with screen.page.expect_download() as loading:
            screen.find("#step-softmax").get_by_role("button", name=kind).click()
        file = tmp_path / loading.value.suggested_filename
        loading.value.save_as(file)
        files[file.suffix] = file
    assert {file.name for file in files.values()} == {
        f"regard-softmax{end}" for end in (".svg", ".png", ".csv", ".json")
    }
    assert re.findall(r">(0\.\d+)<", files[".svg"].read_text()) == [f"{weight:.4f}" for weight in weights.flatten()]
    assert files[".png"].read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(files[".csv"].read_text().splitlines()))
    assert [float(row["value"]) for row in rows] == pytest.approx(weights.flatten().tolist(), abs=1e-12)
    assert json.loads(files[".json"].read_text())[1]["column_token"] == "love"


def test_a_word_that_the_example_does_not_have_is_said_to_be_made_up(screen: Screen) -> None:
    screen.open(text="I love AI")
    screen.shows("main", "Every number of it, live")
    assert "made up" not in screen.text(".page")
    screen.page.get_by_label("Sentence").fill("I love cats")
    screen.shows(".made-up", "made up from their letters")


def test_a_product_of_long_numbers_is_read_to_its_end(screen: Screen) -> None:
    screen.open(example="made-up", text="the cat sat", heads=2, mask="causal", pos=1, t=0.5)
    screen.cell("scores", 2, 2).hover()
    screen.shows("aside", "(−1.1195) × 0.2520")
    assert screen.page.evaluate("(one => one.scrollWidth - one.clientWidth)(document.querySelector('aside'))") == 0


@pytest.mark.parametrize("words", ["<script>alert(1)</script> <b>x</b>", "שלום עולם", "a\u200bb \u202eevil", "x" * 300])
def test_hostile_words_are_words(screen: Screen, words: str) -> None:
    screen.open()
    screen.page.get_by_label("Sentence").fill(words)
    shown = screen.page.locator("[data-step=x] tbody th").all_text_contents()
    assert [word.strip() for word in shown] == words.split()
    assert screen.page.locator("main script, main b b").count() == 0
    assert screen.overflow() == 0


PLACES = {
    "explore": {},
    "mistakes": {"example": "i-love-ai", "cell": "scaled:0,1,2"},
    "heads": {"example": "made-up", "heads": "2", "mask": "causal", "pos": "1"},
    "tour": {"mode": "tour", "step": "2"},
    "check": {"mode": "check", "typed": "q:0,0,0=1;q:0,0,1=3"},
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", PLACES)
def test_it_can_be_used_by_everybody(screen: Screen, place: str, theme: str) -> None:
    """axe-core has nothing to say, on a screen and on a phone."""
    screen.open(lang="fr" if theme == "dark" else "en", theme=theme, **PLACES[place])
    assert screen.violations() == []
    screen.phone()
    assert screen.violations() == []
    assert screen.overflow() == 0
