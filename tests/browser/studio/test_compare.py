"""The page Compare: two sentences, two heads, two vectors; its differences are those of the Python API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.studio.screen import Screen, number
from tests.browser.studio.test_heads import panel, seen, table
from tests.studio_cases import TIRED

WIDE = TIRED.replace("tired", "wide")
SITE, HEAD = "decoder.2.self", 3


def opened(screen: Screen, **params: Any) -> None:
    given: dict[str, Any] = {"model": "grammar", "site": SITE, "head": HEAD} | params
    screen.open("compare", **given)
    panel(screen, "Difference").locator("canvas").wait_for()


def test_tired_and_wide(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    screen.button("tired / wide").click()
    for side, said in (("Left", "qu'il était trop fatigué"), ("Right", "qu'elle était trop large")):
        screen.page.get_by_role("region", name=side, exact=True).get_by_text(said).wait_for()
    found = table(screen, "Difference", tmp_path)
    left, right = (seen(text).weights(SITE, HEAD) for text in (TIRED, WIDE))
    assert left.shape == right.shape
    shown = [one["difference"] for one in found]
    expected = (right - left).flatten().tolist()
    hidden = [index for index, one in enumerate(shown) if one is None]  # what a decoder may not see
    assert all(expected[index] == 0 for index in hidden)
    assert [one or 0 for one in shown] == pytest.approx(expected, abs=1e-6)
    assert "→ il / → elle" in {one["query"] for one in found}
    most = max(abs(value) for value in expected)
    text = panel(screen, "Difference").locator(".changes li").first.locator(".numbers").inner_text()
    before, after = (float(part.strip("< %")) for part in text.split("→"))
    assert abs(after - before) == pytest.approx(100 * most, abs=1.1)


def test_it_opens_with_the_head_that_knows_what_it_stood_for(newcomer: Screen, tmp_path: Path) -> None:
    """Nobody has said which head: it is the one whose look changed most where another word is written."""
    newcomer.open("compare")
    newcomer.page.get_by_role("heading", name=f"Left: {SITE} · {HEAD}").wait_for()
    assert "head" not in newcomer.params()
    found = table(newcomer, "Heads that differ most", tmp_path)
    left, right = (seen(text).weights(SITE, HEAD) for text in (TIRED, WIDE))
    first = found[0]
    assert (first["site"], first["head"], first["query"], first["key"]) == (SITE, HEAD, "→ il / → elle", "L'")
    row = (right - left)[10].abs()
    assert abs(first["right"] - first["left"]) == pytest.approx(float(row.max()), abs=1e-5)
    sizes = [abs(one["right"] - one["left"]) for one in found]
    assert sizes == sorted(sizes, reverse=True)
    panel(newcomer, "Heads that differ most").locator("button[aria-pressed]").nth(1).click()
    second = found[1]
    newcomer.page.get_by_role("heading", name=f"Right: {second['site']} · {second['head']}").wait_for()
    assert newcomer.params()["head"] == str(second["head"])


def test_two_heads_of_one_sentence(screen: Screen, tmp_path: Path) -> None:
    opened(screen, text=TIRED)
    screen.page.get_by_label("Head Right").select_option("0")
    screen.page.get_by_role("heading", name=f"Right: {SITE} · 0").wait_for()
    found = table(screen, "Difference", tmp_path)
    assert screen.params()["head2"] == "0"
    by_cell = [one["right"] for one in found if one["right"] is not None]
    whole = seen(WIDE if screen.params().get("text2") == WIDE else TIRED).weights(SITE, 0)
    assert sum(by_cell) == pytest.approx(float(whole.sum()), abs=1e-4)


def test_a_word_in_two_contexts_layer_by_layer(screen: Screen) -> None:
    opened(screen)
    screen.button("One word, two contexts").click()
    similar = panel(screen, "layer by layer")
    screen.page.get_by_role("heading", name="“right” and “right”").wait_for()  # à droite, avoir raison
    similar.locator("tbody tr").nth(6).wait_for()
    cosines = [number(text) for text in similar.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert len(cosines) == 7  # the embedding, the six layers of en-fr
    assert cosines[0] == pytest.approx(1, abs=5e-5)  # at the same place nothing but the context tells them apart
    assert cosines[-1] < 0.9
    words = screen.page.get_by_role("group", name="Words of Left")
    words.get_by_text("the", exact=True).click()
    screen.page.get_by_role("heading", name="“the”").wait_for()
    assert "word" in screen.params()


def test_before_and_after_training(newcomer: Screen) -> None:
    """What ships keeps no checkpoints: its first weights are drawn again."""
    newcomer.open("compare")
    newcomer.button("Before and after training").click()
    left, right = (newcomer.page.get_by_role("region", name=side, exact=True) for side in ("Left", "Right"))
    right.get_by_text("qu'il était trop fatigué").wait_for()
    assert left.get_by_label("Model").input_value() == "run:grammar@start"
    assert right.get_by_label("Model").input_value() == "run:grammar@model"
    panel(newcomer, "Difference").locator("canvas").wait_for()
    panel(newcomer, "layer by layer").locator("tbody tr").nth(2).wait_for()
    box = left.locator(".output").bounding_box()  # hundreds of words, of a model that has learned none
    assert box is not None
    assert box["height"] < 140


def test_a_recording_says_what_it_has_not_and_gives_way_to_a_model(screen: Screen) -> None:
    """Whoever opened the studio with a recording: its text cannot be changed, but every comparison can be had."""
    opened(screen, model="recording:cat", site="decoder.1.cross")
    panel(screen, "layer by layer").get_by_text("A recording keeps what heads looked at").wait_for()
    screen.button("tired / wide").click()
    screen.page.get_by_role("region", name="Right", exact=True).get_by_text("trop large").wait_for()
    assert screen.params()["model"] == "grammar"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_anybody(screen: Screen, theme: str) -> None:
    opened(screen, theme=theme)
    panel(screen, "layer by layer").locator("tbody tr").first.wait_for()
    assert screen.violations() == []
    screen.phone()
    assert screen.overflow() <= 0
