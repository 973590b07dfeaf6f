"""The page Heads by clicking and typing: its weights, scores and probabilities are those of the Python API."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.lens.analysis.subject import open_subject
from regard.lens.recording_api import Recording
from regard.tasks import Translator
from tests.browser.studio.screen import Screen, number
from tests.studio_cases import CAT, TIRED

HOSTILE = "<script>alert(1)</script> \u202eabc\u202c \u200b " + "x" * 60


@cache
def seen(text: str = TIRED) -> Recording:
    """What was watched while the model translated."""
    return open_subject("grammar", "cpu").see(text)


def opened(screen: Screen, **params: Any) -> None:
    given: dict[str, Any] = {"model": "grammar", "text": TIRED} | params
    screen.open("heads", **given)
    screen.page.wait_for_selector("section.panel .lines, section.panel .matrix")


def panel(screen: Screen, title: str) -> Any:
    heading = screen.page.get_by_role("heading", name=title)
    return screen.page.locator("section.panel").filter(has=heading)


def saved(screen: Screen, title: str, kind: str, folder: Path) -> Path:
    section = panel(screen, title)
    section.locator("summary").click()
    with screen.page.expect_download() as loading:
        section.get_by_role("button", name=kind, exact=True).click()
    file = folder / loading.value.suggested_filename
    loading.value.save_as(file)
    return file


def table(screen: Screen, title: str, folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(saved(screen, title, "Table, JSON", folder).read_text(encoding="utf-8"))
    return found


def pick_word(screen: Screen, line: str, word: str) -> None:
    screen.page.get_by_role("group", name=line, exact=True).get_by_text(word, exact=True).click()


def reads(screen: Screen, word: str) -> None:
    """Waits until this word is a token: the other model has it in pieces."""
    screen.page.get_by_role("group", name="Read", exact=True).get_by_text(word, exact=True).wait_for()


def test_a_newcomer_finds_what_it_stood_for_and_which_head_mattered(screen: Screen, tmp_path: Path) -> None:
    """From the first page, by clicking alone: Heads, then the word."""
    screen.open("steps")
    screen.page.get_by_role("link", name="Heads").click()
    screen.page.get_by_label("Model", exact=True).select_option("grammar")
    reads(screen, "street")
    pick_word(screen, "Read", "it")
    story = panel(screen, "Which heads mattered for “il”")
    story.get_by_role("button", name="Silence it").wait_for()
    first = story.locator("li").first.inner_text()
    assert "decoder.1.cross · 3" in first
    assert "tired" in first
    ranked = table(screen, "Which heads mattered for “il”", tmp_path)
    assert ranked[0]["effect on log probability"] < -2
    assert ranked[0]["weight"] == pytest.approx(float(weights("decoder.1.cross", 3)[10, 11]), abs=1e-6)
    story.get_by_role("button", name="Silence it").click()
    screen.page.get_by_text("The model says something else now.").wait_for()
    assert "elle" in screen.text(".said.changed")


def weights(site: str, head: int, text: str = TIRED) -> Any:
    return seen(text).weights(site, head)


def test_a_click_waits_for_the_text_that_is_being_read(screen: Screen) -> None:
    """The same place is another word in the model that is asked now."""
    opened(screen, model="en-fr")
    held: list[Any] = []
    screen.page.route("**/api/looks", lambda route: held.append(route))
    screen.page.get_by_label("Model", exact=True).select_option("grammar")
    screen.page.locator(".body.stale").wait_for()
    screen.eventually(lambda: len(held), lambda count: count == 1)
    screen.page.get_by_role("group", name="Read", exact=True).get_by_text("it", exact=True).click(force=True)
    assert "word" not in screen.params()
    held[0].continue_()
    reads(screen, "street")
    pick_word(screen, "Read", "it")
    panel(screen, "Which heads mattered for “il”").wait_for()
    assert screen.params()["word"] == "source:8"


def test_typing_a_text_and_reading_a_head(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    screen.page.get_by_label("Text", exact=True).fill(CAT)
    screen.page.keyboard.press("Enter")
    screen.page.get_by_role("group", name="Read").get_by_text("sleep").first.wait_for()
    screen.page.get_by_role("button", name="encoder.1.self · head 2", exact=True).click()
    panel(screen, "encoder.1.self · head 2").wait_for()
    assert {"text": CAT, "site": "encoder.1.self", "head": "2"}.items() <= screen.params().items()
    screen.page.get_by_text("Matrix", exact=True).click()
    found = table(screen, "encoder.1.self · head 2", tmp_path)
    expected = weights("encoder.1.self", 2, CAT).flatten().tolist()
    assert [one["weight"] for one in found] == pytest.approx(expected, abs=1e-6)
    screen.page.go_back()
    screen.page.go_back()
    assert screen.page.get_by_label("Text", exact=True).input_value() == TIRED


def test_why_a_cell_is_what_it_is(screen: Screen, tmp_path: Path) -> None:
    opened(screen, site="decoder.1.cross", head=3, row=10, column=11)
    why = panel(screen, "Why this cell")
    why.locator("dd").first.wait_for()
    score, scaled, weight = (number(text) for text in why.locator("dd").all_inner_texts()[:3])
    assert weight == pytest.approx(float(weights("decoder.1.cross", 3)[10, 11]), abs=1e-4)
    parts = table(screen, "Why this cell", tmp_path)
    assert sum(one["product"] for one in parts) == pytest.approx(score, abs=1e-3)
    assert all(one["product"] == pytest.approx(one["query"] * one["key"]) for one in parts)
    assert scaled == pytest.approx(score / math.sqrt(len(parts)), abs=1e-3)
    bars = [abs(number(text)) for text in why.locator(".bars .product").all_inner_texts()]
    assert bars == sorted(bars, reverse=True)
    why.locator(".top button").nth(1).click()
    assert screen.params()["column"] != "11"


def test_changing_a_head_changes_what_the_model_says(screen: Screen, tmp_path: Path) -> None:
    opened(screen, site="decoder.1.cross", head=3, row=10, column=11)
    for name in ("Sharpen", "Forbid"):
        screen.button(name).click()
    screen.page.get_by_role("button", name=re.compile("Take back: .*must not look at")).wait_for()
    screen.button("Silence").click()  # takes the place of both
    panel(screen, "What if").locator(".tokens").wait_for()
    model = regard.load("grammar", "cpu")
    assert isinstance(model, Translator)
    with regard.intervene(model, silence=("decoder.1.cross", 3)):
        (expected,) = model.translate([TIRED])
    assert expected.replace(" ", "") in screen.text(".said.changed").replace(" ", "")
    kept = table(screen, "What if", tmp_path)
    il = next(one for one in kept if one["token"].strip() == "il")
    assert il["before"] > 0.9 > 0.1 > il["after"]
    assert screen.params()["do"] == "decoder.1.cross~3~silence"
    screen.page.reload()
    screen.page.get_by_text("The model says something else now.").wait_for()


def test_the_scatter_plot_has_the_axes_that_are_chosen(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    screen.page.get_by_text("Scatter plot", exact=True).click()
    screen.page.locator(".scatter .point").first.wait_for()
    assert not [address for address in screen.requests if address.endswith("/effects")]
    screen.page.get_by_label("Across").select_option("effect")
    screen.page.locator(".scatter .axis", has_text="effect").wait_for()
    rows = table(screen, "All heads", tmp_path)
    picture = saved(screen, "All heads", "Picture, SVG", tmp_path).read_text(encoding="utf-8")
    assert ">encoder<" in picture  # what its shapes mean
    screen.page.get_by_label("Across").select_option("distance")
    screen.page.get_by_text("lack one of the two measures: 12.").wait_for()  # between two texts there is no distance
    screen.page.get_by_label("Across").select_option("effect")
    expected = {(one.site, one.head): one.entropy for one in seen().heads().lines}
    assert {(one["site"], one["head"]): pytest.approx(one["entropy"], abs=1e-5) for one in rows} == expected
    assert min(rows, key=lambda one: float(one["effect"]))["site"] == "decoder.1.cross"
    screen.page.get_by_role("application", name="All heads as points").focus()
    screen.page.keyboard.press("ArrowRight")
    screen.page.keyboard.press("Enter")
    assert "site" in screen.params()


def test_pictures_can_be_taken_along(screen: Screen, tmp_path: Path) -> None:
    opened(screen, site="decoder.2.cross", head=0)
    title = "decoder.2.cross · head 0"
    assert "<path" in saved(screen, title, "Picture, SVG", tmp_path).read_text(encoding="utf-8")
    assert saved(screen, title, "Picture, PNG", tmp_path).read_bytes().startswith(b"\x89PNG")


def test_the_story_and_the_change_are_pictures_too(screen: Screen, tmp_path: Path) -> None:
    opened(screen, word="source:8", do="decoder.1.cross~3~silence")
    panel(screen, "Which heads mattered for").get_by_text("The head that mattered most").wait_for()
    panel(screen, "What if").locator(".tokens").wait_for()
    story = saved(screen, "Which heads mattered for", "Picture, SVG", tmp_path).read_text(encoding="utf-8")
    assert "decoder.1.cross · 3" in story
    assert story.count("× ") == 5  # as many heads as are shown
    kept = table(screen, "What if", tmp_path)
    change = saved(screen, "What if", "Picture, SVG", tmp_path).read_text(encoding="utf-8")
    assert change.count("<circle") == 2 * len(kept)


@pytest.mark.parametrize(("text", "pronoun"), [(TIRED, "il"), (TIRED.replace("tired", "wide"), "elle")])
def test_a_word_is_paired_with_what_it_became(screen: Screen, text: str, pronoun: str) -> None:
    """By the heads that align words, where it is known which do."""
    opened(screen, text=text)
    pick_word(screen, "Read", "it")
    panel(screen, f"Which heads mattered for “{pronoun}”").get_by_text("The head that mattered most").wait_for()
    assert "it ⟶ " + pronoun in screen.text(".from")


def test_hostile_tokens_are_text(screen: Screen) -> None:
    opened(screen, text=HOSTILE)
    pick_word(screen, "Wrote", "</s>")
    assert screen.page.locator("main script").count() == 0
    assert screen.overflow() <= 0
    screen.phone()
    assert screen.overflow() <= 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_anybody(screen: Screen, theme: str) -> None:
    opened(screen, theme=theme, word="source:8")
    screen.page.locator(".why dd").first.wait_for()
    assert screen.violations() == []
    screen.phone()
    assert screen.overflow() <= 0


def test_in_french_and_embedded(screen: Screen) -> None:
    opened(screen, lang="fr", embed=1)
    panel(screen, "Pourquoi cette case").wait_for()
    assert screen.page.locator("header nav").count() == 0


def test_a_model_that_is_not_there_says_what_to_do(screen: Screen) -> None:
    screen.open("heads", model="nothing")
    screen.page.get_by_role("alert").wait_for()
    assert "nothing" in screen.text("[role=alert]")
    screen.complaints.clear()  # the browser's own line about the answer 404
