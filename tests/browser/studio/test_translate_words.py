"""Every word of the page Translate can be picked, by mouse, finger and keyboard; a link carries what is picked."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from regard.lens.analysis.subject import open_subject
from regard.lens.recording_api import Recording
from tests.browser.studio.screen import Screen
from tests.studio_cases import CAT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SITE = "decoder.2.cross"  # where `grammar` aligns words: all heads, averaged


@cache
def seen() -> Recording:
    return open_subject("grammar", "cpu").see(CAT)


def ready(screen: Screen) -> None:
    screen.eventually(lambda: screen.page.locator("[data-reading=source]").all_inner_texts(), lambda found: any(found))


def opened(screen: Screen, **params: Any) -> Any:
    """The panel of lines between the two sentences."""
    screen.open("translate", **({"model": "grammar", "text": CAT} | params))
    ready(screen)
    return screen.page.locator("section.panel").filter(
        has=screen.page.get_by_role("heading", name="Who looked at whom")
    )


def most_of(weights: Any, names: list[str]) -> str:
    best = int(weights.argmax())
    return f"{names[best]} {100 * float(weights[best]):.2g}%"


def test_a_word_of_the_source_tells_who_looked_at_it(screen: Screen) -> None:
    lines = opened(screen)
    weights = seen().weights(SITE)[:].mean(0)
    source = [str(token).strip() for token in seen().tokens]
    written = [str(token).strip() for token in seen().target_tokens[1:]]
    cat = source.index("cat")
    assert lines.locator("path.strong").count() > 0
    lines.get_by_role("button", name="cat", exact=True).click()
    screen.page.mouse.move(0, 0)
    expected = most_of(weights[:, cat], [*written, "</s>"])
    screen.shows("[data-reading=alignment]", f"cat ⟵ {expected}")
    assert screen.params()["source"] == str(cat)
    strong = lines.locator("path.strong title").all_text_contents()
    assert strong
    assert all("→ cat: " in title for title in strong)
    screen.page.reload()  # the link has it
    ready(screen)
    screen.shows("[data-reading=alignment]", f"cat ⟵ {expected}")
    lines.get_by_role("button", name="chat", exact=True).click()  # and from the source back to a step
    assert screen.params()["step"] == "2"
    assert "source" not in screen.params()
    screen.shows("[data-reading=alignment]", f"chat ⟶ {most_of(weights[1], source)}")


def test_words_that_a_step_looked_at_can_be_picked_by_keyboard(screen: Screen) -> None:
    opened(screen, step=3)
    source = screen.page.get_by_role("group", name="In the source", exact=True).get_by_role("button")
    source.first.focus()
    screen.page.keyboard.press("ArrowRight")
    screen.page.keyboard.press("Enter")
    assert screen.params()["source"] == "1"
    screen.shows("[data-reading=alignment]", "cat ⟵")
    screen.page.keyboard.press("Enter")  # and let go
    assert "source" not in screen.params()
    own = screen.page.get_by_role("group", name="Among what it had written").get_by_role("button")
    own.nth(1).click()  # "Le", which stands behind the start
    assert screen.params()["step"] == "1"


def test_a_finger_picks_too(browser: Browser, screen: Screen) -> None:
    context = browser.new_context(has_touch=True, viewport={"width": 375, "height": 740})
    try:
        page = context.new_page()
        page.goto(f"{screen.studio}/?lang=en#/translate?model=grammar&text={CAT}")
        lines = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Who looked at whom"))
        lines.get_by_role("button", name="cat", exact=True).tap()
        lines.locator("[data-reading=alignment]", has_text="cat ⟵").wait_for()
    finally:
        context.close()


@pytest.mark.parametrize("index", ["99", "-1", "x"])
def test_a_word_that_is_not_there_is_none(screen: Screen, index: str) -> None:
    lines = opened(screen, source=index)
    assert lines.locator("g.token[aria-pressed=true]").count() == 0
    assert "⟶" in screen.text("[data-reading=alignment]")


def test_what_else_it_thought_of_is_a_picture_too(screen: Screen, tmp_path: Path) -> None:
    opened(screen, step=2)
    heading = screen.page.get_by_role("heading", name="Instead of “chat”")
    panel = screen.page.locator("section.panel").filter(has=heading)
    files = {}
    for kind in ("Picture, SVG", "Table, JSON"):
        panel.locator("summary").click()
        with screen.page.expect_download() as loading:
            panel.get_by_role("button", name=kind).click()
        files[kind] = tmp_path / loading.value.suggested_filename
        loading.value.save_as(files[kind])
    rows = json.loads(files["Table, JSON"].read_text(encoding="utf-8"))
    picture = files["Picture, SVG"].read_text(encoding="utf-8")
    assert picture.count('height="8"') == 2 * len(rows)  # a track and a bar each
    assert "chat ✓" in picture


LONG = "The animal didn't cross the street because it was too tired, and the cat sleeps because it is tired too."


def test_what_the_three_kinds_of_model_leave_out_is_counted(screen: Screen) -> None:
    """The vector of 2014 comes after the last token, so the last tokens are in sight."""
    opened(screen, model="en-fr", text=LONG, step=23)
    source = [str(token) for token in open_subject("en-fr", "cpu").see(LONG).tokens]
    for year in ("2014", "2017"):
        picture = screen.page.locator(f"article[aria-label='{year}'] svg")
        words = picture.locator("g.word:not(.past, .now)").all_text_contents()
        counts = picture.locator("text.head:not(.own)").all_text_contents()
        left_out = [int(text) for text in counts if text.startswith("+")]
        assert len(words) + sum(left_out) == len(source) > len(words)
        past = picture.locator("g.past").count()
        assert past + int(picture.locator("text.head.own").text_content() or 0) == 22 > past
        if year == "2014":
            assert words[-1].strip() == "</s>"


def test_a_person_types_another_word_and_the_translation_goes_on_from_there(screen: Screen) -> None:
    screen.open("translate", model="grammar", text=CAT, step=2)
    box = screen.page.get_by_label("Your own words instead of “chat”")
    box.fill("chien")
    box.press("Enter")
    heading = screen.page.get_by_role("heading", name="Instead of “chien”")
    heading.wait_for()
    assert screen.params()["forced"] == "1"
    written = screen.page.get_by_role("group", name="The translation, token by token").locator("bdi")
    assert [word.strip() for word in written.all_inner_texts()][:2] == ["Le", "chien"]
    screen.page.get_by_role("button", name="Undo the forced word").last.click()
    written.nth(1).filter(has_text="chat").wait_for()
    assert "prefix" not in screen.params()
