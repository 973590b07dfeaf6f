"""Every page on folders that transformers wrote: its pictures are there, and what a page cannot do it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from regard.lens.analysis.subject import open_subject
from regard.server.studio.catalogue import StudioCatalogue
from tests.browser.studio.conftest import serving, watched
from tests.browser.studio.screen import Screen
from tests.browser.studio.test_heads import panel, table
from tests.browser.studio.test_map import arrived
from tests.studio_cases import WORDS
from tests.subjects import theirs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MODELS = ("llama", "roberta", "bart")  # a model that goes on, one that fills masks, one that writes another text
TEXT = WORDS + " w6 w7"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("hub")
    return {name: theirs(name, root) for name in MODELS}


@pytest.fixture(scope="module")
def hub_studio(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    paths = [str(folder) for folder in folders.values()]
    with serving(StudioCatalogue.of(paths, tmp_path_factory.mktemp("nothing"))) as address:
        yield address


@pytest.fixture
def screen(browser: Browser, hub_studio: str) -> Iterator[Screen]:
    with watched(browser, hub_studio) as screen:
        yield screen


@pytest.mark.parametrize("model", MODELS)
def test_heads_and_map_show_its_weights(screen: Screen, folders: dict[str, Path], model: str, tmp_path: Path) -> None:
    recording = open_subject(str(folders[model]), "cpu").see(TEXT)
    site = recording.sites[-1]
    screen.open("heads", model=model, text=TEXT, site=site, head=1)
    screen.page.wait_for_selector("section.panel .lines, section.panel .matrix")
    found = table(screen, f"{site} · head 1", tmp_path)
    weights = recording.weights(site, 1)
    assert [one["weight"] or 0.0 for one in found] == pytest.approx(weights.flatten().tolist(), abs=1e-5)
    screen.counts(".glance canvas.there", sum(len(recording.last.map(one).heads) for one in recording.sites))
    screen.open("map", model=model, text=TEXT, site=site, head=1)
    arrived(screen)
    panel(screen, "Why this cell").locator("dd").nth(2).wait_for()


@pytest.mark.parametrize("model", MODELS)
def test_a_head_of_it_can_be_silenced(screen: Screen, model: str) -> None:
    screen.open("heads", model=model, text=TEXT)
    screen.page.wait_for_selector("section.panel .lines")
    screen.button("Silence").click()
    panel(screen, "What if").locator(".tokens, .said, table, .bars").first.wait_for()
    assert screen.params()["do"].endswith("~silence")


def test_two_of_them_are_compared(screen: Screen) -> None:
    asked: dict[str, Any] = {"model": "llama", "model2": "roberta", "text": TEXT, "text2": TEXT}
    screen.open("compare", **asked)
    screen.until("document.querySelectorAll('main canvas').length >= 2")


def test_what_no_layer_tells_apart_is_one_line(screen: Screen) -> None:
    """A causal model knows nothing of what comes later: the first words of two texts are the same in every layer."""
    screen.open("compare", model="llama", text=TEXT, text2=TEXT + " w1")
    similar = panel(screen, "layer by layer")
    similar.locator("tbody tr").nth(2).wait_for()
    assert set(similar.locator("tbody td:nth-child(2)").all_inner_texts()) <= {"1", "1.0000"}


@pytest.mark.parametrize("page", ["translate", "training", "steps"])
def test_what_has_nothing_to_show_of_it_says_what_to_do(screen: Screen, page: str) -> None:
    screen.open(page, model="llama")
    screen.page.wait_for_load_state("networkidle")
    screen.counts("main h1", 1)
    assert screen.overflow() <= 0
