"""Whoever has never seen the studio finds which word "it" stood for and which head mattered, by clicking alone."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.lens.analysis.subject import open_subject
from regard.lens.intervene import intervene
from tests.browser.studio.screen import PATIENCE, Screen
from tests.studio_cases import TIRED

DOCS = Path(__file__).parents[3] / "docs" / "how-to" / "studio.md"
NUMBERS = ("no", "one", "two", "three", "four", "five")
MODEL = "en-fr"  # which the studio shows first

# The page counts by itself, so that nothing is done beside the clicks that are written down.
COUNTING = """
  sessionStorage.clicks ??= 0; sessionStorage.keys ??= 0; sessionStorage.pages ??= 0; sessionStorage.pages++;
  addEventListener('click', (event) => event.isTrusted && event.detail && sessionStorage.clicks++, true);
  addEventListener('keydown', () => sessionStorage.keys++, true);
"""
WAYS = {"by the link on the first page": "which word did “it” stand for", "by the page's name": "Heads"}


def click_to_it(newcomer: Screen, link: str) -> Any:
    """From the page that `regard studio` opens: where heads are shown, then the word. Gives the panel that answers."""
    page = newcomer.page
    page.add_init_script(COUNTING)
    page.goto(f"{newcomer.studio}/?lang=en")
    page.get_by_role("link", name=link).click()
    page.get_by_role("group", name="Read", exact=True).get_by_text("it", exact=True).click()
    story = page.locator("section.panel").filter(has=page.get_by_role("heading", name="Which heads mattered for “il”"))
    story.get_by_text("The head that mattered most").wait_for(timeout=2 * PATIENCE)
    return story


def documented() -> int:
    """How many clicks the documentation says it takes."""
    (word,) = re.findall(r"\*\*(\w+) clicks\*\*", DOCS.read_text(encoding="utf-8"))
    return NUMBERS.index(word.lower())


@cache
@torch.no_grad()
def effects() -> dict[tuple[str, int], float]:
    """What silencing each head multiplies the probability of "il" by, by the Python API alone."""
    subject = open_subject(MODEL, "cpu")
    recording = subject.see(TIRED)
    model = regard.load(MODEL, "cpu")
    assert isinstance(model, regard.Translator)
    (source,), (target,) = subject.encoded([TIRED]), subject.forced(model.translate([TIRED]))
    (place,) = [at for at, token in enumerate(recording.target_tokens) if str(token).strip(" ▁") == "il"]

    def log_probability() -> float:
        logits = model.model(torch.tensor([source]), torch.tensor([target[:-1]]))
        return float(logits[0, place - 1].log_softmax(-1)[target[place]])

    before = log_probability()
    found = {}
    for site in recording.sites:
        for head in range(recording.weights(site).shape[0]):
            with intervene(model.model, silence=(site, head)):
                found[site, head] = log_probability() - before
    return found


@pytest.mark.parametrize("way", WAYS)
def test_as_many_clicks_as_the_documentation_says(newcomer: Screen, way: str) -> None:
    click_to_it(newcomer, WAYS[way])
    counted = newcomer.page.evaluate("[sessionStorage.clicks, sessionStorage.keys, sessionStorage.pages].map(Number)")
    assert counted == [documented(), 0, 1]  # nothing typed, and no address but the first


def test_what_is_found_is_so(newcomer: Screen) -> None:
    """The head named needs to be silenced for the largest change, and looks where the page says; so do the others."""
    story = click_to_it(newcomer, "Heads")
    said = story.locator(".most").inner_text().replace("\u2068", "").replace("\u2069", "")
    site, head, query, key, weight = re.findall(
        r"is (\S+) · (\d+): there “(.+)” looks at “(.+)”, with ([\d.]+)% of its attention", said
    )[0]
    assert (query, key) == ("it", "animal")
    assert (site, int(head)) == min(effects(), key=lambda one: effects()[one])
    recording = open_subject(MODEL, "cpu").see(TIRED)
    words = [str(token).strip(" ▁") for token in recording.tokens]
    row = recording.weights(site, int(head))[words.index("it")]
    assert words[int(row.argmax())] == "animal"
    assert float(row.max()) == pytest.approx(float(weight) / 100, abs=0.0051)
    listed = [re.findall(r"(\S+) · (\d+)\s+× ([\d.]+)", one)[0] for one in story.locator("li").all_inner_texts()]
    for other, number, times in listed:
        assert float(times) == pytest.approx(torch.tensor(effects()[other, int(number)]).exp().item(), abs=0.0051)
    assert [float(times) for *_, times in listed] == sorted(float(times) for *_, times in listed)


def test_a_second_click_at_the_same_place_takes_the_word_back(newcomer: Screen) -> None:
    """What is clicked stays under the pointer, on a screen and on a phone."""
    for width in (1360, 375):
        newcomer.page.set_viewport_size({"width": width, "height": 900})
        newcomer.open("heads")
        word = newcomer.page.get_by_role("group", name="Read", exact=True).get_by_text("it", exact=True)
        word.scroll_into_view_if_needed()
        before = word.bounding_box()
        word.click()
        newcomer.page.get_by_text("The head that mattered most").wait_for(timeout=2 * PATIENCE)
        assert word.bounding_box() == before
        word.click()
        newcomer.page.get_by_text("The head that mattered most").wait_for(state="detached")
        assert "word" not in newcomer.params()
