"""The page Map: tiles on the GPU and without one, read by pointing, searched, and walked by the strongest cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import regard
from regard.models import Decoder, DecoderConfig
from regard.server.studio.catalogue import StudioCatalogue
from tests.browser.studio.conftest import serving, watched
from tests.browser.studio.screen import Screen, number
from tests.browser.studio.test_heads import panel, saved, seen, table
from tests.studio_cases import TIRED

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Response

SITE, HEAD = "decoder.1.cross", 3
TOKENS = 8192  # of a text that has far more weights than a screen has pixels
LONG = " ".join(f"The animal {word} the street." for word in ("crosses", "sees", "likes") * 40)


def opened(screen: Screen, **params: Any) -> None:
    given: dict[str, Any] = {"model": "grammar", "text": TIRED, "site": SITE, "head": HEAD} | params
    screen.open("map", **given)
    arrived(screen)


def arrived(screen: Screen) -> None:
    screen.until("document.querySelector('.stage')?.dataset.waiting === '0'")


def place(screen: Screen, row: float, column: float, rows: int, columns: int) -> tuple[float, float]:
    """The pixel of a cell while all of the map is shown."""
    screen.page.locator(".stage").scroll_into_view_if_needed()
    box = screen.page.locator("canvas.tiles").bounding_box()
    assert box
    zoom = min(64, box["width"] / columns, box["height"] / rows)
    return box["x"] + (column + 0.5) * zoom, box["y"] + (row + 0.5) * zoom


@pytest.fixture(scope="module")
def long_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio opened with the recording of a long text."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"dim": 16, "heads": 1, "feedforward": 16, "layers": 1, "positions": "sinusoidal"}
    model = Decoder(DecoderConfig(**sizes, vocabulary=50, max_length=TOKENS)).eval()
    file = tmp_path_factory.mktemp("long") / "long.regard"
    with torch.no_grad(), regard.watch(model, lambda number: f" reading-{number}") as seen:
        model(torch.randint(50, (1, TOKENS)))
    seen.pool(cell=8).save(file)
    with serving(StudioCatalogue.of([str(file)])) as address:
        yield address


def test_all_of_a_long_map_is_less_than_a_megabyte(browser: Browser, long_studio: str) -> None:
    """On the largest screens, too: numbers are asked for as they are needed, and are few until somebody zooms."""
    with watched(browser, long_studio) as screen:
        answers: list[Response] = []
        screen.page.on("response", lambda answer: answers.append(answer))

        def fetched() -> int:
            arrived(screen)
            kind = "application/octet-stream"
            numbers = (one.headers for one in answers if one.headers.get("content-type") == kind)
            return sum(int(headers["content-length"]) for headers in numbers)

        screen.page.set_viewport_size({"width": 2560, "height": 1440})
        screen.open("map")
        assert 0 < fetched() < 1_000_000
        screen.button("Full screen: decoder.0.self · 0").click()
        screen.until("document.querySelector('canvas.tiles').clientWidth > 2000")
        screen.page.wait_for_timeout(300)  # for what may be asked for
        before = fetched()
        assert before < 1_000_000
        screen.page.locator(".stage").focus()
        for _ in range(6):
            screen.page.keyboard.press("+")
        screen.until("Number(document.querySelector('.stage').dataset.level) < 3")
        assert fetched() > before


def test_what_is_pointed_at_is_read_again_when_the_map_comes_nearer(browser: Browser, long_studio: str) -> None:
    """The pointer stays where it is, and another cell, then its own weight, comes below it."""
    with watched(browser, long_studio) as screen:
        screen.open("map")
        arrived(screen)
        x, y = place(screen, 6000, 2000, TOKENS, TOKENS)
        screen.page.mouse.move(x, y)
        screen.shows(".reading .value", "Share of these")
        for _ in range(12):
            screen.page.mouse.wheel(0, -400)
        screen.until("document.querySelector('.stage').dataset.level === '0'")
        screen.shows(".reading .value", "Weight")
        found = screen.text(".reading")
        screen.page.mouse.move(x + 200, y)
        screen.eventually(lambda: screen.text(".reading"), found.__ne__)
        screen.page.mouse.move(x, y)
        screen.eventually(lambda: screen.text(".reading"), found.__eq__)
        screen.page.mouse.click(x, y)
        row = int(screen.eventually(screen.params, lambda found: "row" in found)["row"])
        screen.shows(".says", f"of {row + 1:,}.")  # a causal row looks at no more keys


def test_numbers_are_written_as_in_one_s_language(browser: Browser, long_studio: str) -> None:
    with watched(browser, long_studio) as screen:
        screen.open("map", lang="fr", row=4321, column=1234)
        arrived(screen)
        screen.shows(".reading", "4\u202f321")
        screen.shows(".reading", "1\u202f234")
        assert re.fullmatch(r".* · réunie en cases de 8 .*", screen.text(".badge"))


def test_two_fingers_zoom_one_moves_and_a_tap_picks(browser: Browser, long_studio: str) -> None:
    with watched(browser, long_studio) as screen:
        screen.phone()
        hand = screen.context.new_cdp_session(screen.page)
        hand.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
        screen.open("map")
        arrived(screen)
        screen.page.evaluate("document.querySelector('.stage').scrollIntoView({block: 'center'})")
        box = screen.page.locator("canvas.tiles").bounding_box()
        assert box
        x, y = box["x"] + box["width"] / 3, box["y"] + 0.6 * box["height"]

        def touch(*moves: Sequence[tuple[float, float]]) -> None:
            """Fingers go down at the first places, along the others, and up."""
            for number, places in enumerate(moves):
                kind = "touchMove" if number else "touchStart"
                points = [{"x": x + dx, "y": y + dy, "id": finger} for finger, (dx, dy) in enumerate(places)]
                hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
                screen.page.wait_for_timeout(16)
            hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        touch(*([(-wide, -wide / 2), (wide, wide / 2)] for wide in range(20, 90, 6)))
        zoomed = screen.eventually(screen.params, lambda found: "at" in found)["at"]
        assert screen.page.evaluate("visualViewport.scale") == 1  # the map has come nearer, not the page
        scrolled = screen.page.evaluate("scrollY")
        touch(*([(0, -far)] for far in range(0, 60, 6)))
        moved = screen.eventually(screen.params, lambda found: found.get("at") not in (None, zoomed))["at"]
        assert float(moved.split(",")[0]) > float(zoomed.split(",")[0])
        assert screen.page.evaluate("scrollY") == scrolled
        touch([(0, 0)])
        screen.eventually(screen.params, lambda found: {"row", "column"} <= found.keys())
        panel_box = screen.page.locator(".reading").bounding_box()
        assert panel_box
        for mark in screen.page.locator(".reading mark").all():  # the words themselves are not cut off
            words = mark.bounding_box()
            assert words
            assert panel_box["x"] < words["x"] < words["x"] + words["width"] <= panel_box["x"] + panel_box["width"]


@pytest.mark.parametrize("plain", [0, 1])
def test_pointing_reads_true_values(screen: Screen, plain: int) -> None:
    opened(screen, plain=plain)
    assert not plain or screen.page.locator(".stage").get_attribute("data-kind") == "2d"
    weights = seen().weights(SITE, HEAD)
    rows, columns = weights.shape
    for row, column in ((10, 11), (0, 0), (rows - 1, columns - 1)):
        screen.page.mouse.move(*place(screen, row, column, rows, columns))
        expected = pytest.approx(float(weights[row, column]), rel=1e-2, abs=1e-4)
        screen.eventually(lambda: number(screen.text("[data-testid=value] b")), expected.__eq__)


def test_a_click_explains_the_cell(screen: Screen) -> None:
    opened(screen)
    weights = seen().weights(SITE, HEAD)
    screen.page.mouse.click(*place(screen, 10, 11, *weights.shape))
    assert {"row": "10", "column": "11"}.items() <= screen.params().items()
    shown = panel(screen, "Why this cell").locator("[data-testid=weight]")
    screen.eventually(lambda: number(shown.inner_text()), pytest.approx(float(weights[10, 11]), abs=1e-4).__eq__)


def test_the_colours_are_those_of_the_weights(screen: Screen) -> None:
    """The strongest cell is painted darker than an empty one, by the shader as by the canvas."""
    opened(screen, plain=1)
    weights = seen().weights(SITE, HEAD)
    read = """places => { const canvas = document.querySelector('canvas.tiles'), box = canvas.getBoundingClientRect();
        const {data, width} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const at = inside => Math.floor(inside * canvas.width / box.width);
        return places.map(([x, y]) => [...data.slice(4 * (at(y - box.y) * width + at(x - box.x)))].slice(0, 3)); }"""
    places = [divmod(int(one), weights.shape[1]) for one in (weights.argmax(), weights.argmin())]
    strong, weak = screen.page.evaluate(read, [place(screen, *one, *weights.shape) for one in places])
    assert sum(strong) < sum(weak) - 200


def test_the_strongest_cells_can_be_walked(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    panel(screen, "Strongest cells").locator("li").first.wait_for()
    rows = table(screen, "Strongest cells", tmp_path)
    weights = seen().weights(SITE, HEAD)
    expected = weights.flatten().sort(descending=True).values[: len(rows)].tolist()
    assert [one["weight"] for one in rows] == pytest.approx(expected, abs=1e-6)
    panel(screen, "Strongest cells").locator("li button").nth(2).click()
    found = screen.params()
    assert (int(found["row"]), int(found["column"])) == (rows[2]["row"], rows[2]["column"])


def test_zooming_and_moving_about_a_long_text(screen: Screen) -> None:
    opened(screen, text=LONG, site="encoder.0.self", head=0)
    stage = screen.page.locator(".stage")
    level = int(stage.get_attribute("data-level") or 0)
    assert level > 0
    assert "at" not in screen.params()
    stage.scroll_into_view_if_needed()
    box = screen.page.locator("canvas.tiles").bounding_box()
    assert box
    middle = box["x"] + box["width"] / 2, box["y"] + 60
    screen.page.mouse.move(*middle)
    screen.page.mouse.wheel(0, -1500)
    arrived(screen)
    screen.until("document.querySelector('.stage').dataset.level === '0'")
    before = screen.eventually(screen.params, lambda found: "at" in found)["at"]
    assert screen.page.locator("canvas.mini").is_visible()
    screen.page.mouse.down()
    screen.page.mouse.move(middle[0] - 80, middle[1] - 40, steps=4)
    screen.page.mouse.up()
    dragged = screen.eventually(screen.params, lambda found: found.get("at") != before)["at"]
    stage.focus()
    screen.page.keyboard.press("Shift+ArrowRight")
    screen.eventually(screen.params, lambda found: found.get("at") != dragged)
    screen.page.keyboard.press("0")
    screen.eventually(screen.params, lambda found: "at" not in found)


def test_a_small_map_does_not_look_larger_than_it_is(screen: Screen) -> None:
    opened(screen, model="recording:cat", site="decoder.2.cross", head=0)
    ground = "getComputedStyle(document.querySelector('canvas.tiles')).backgroundSize"
    assert screen.page.evaluate(ground) == "384px 384px"  # six words of at most 64 pixels


def test_searching_the_text(screen: Screen) -> None:
    opened(screen, text=LONG, site="encoder.0.self", head=0)
    screen.page.get_by_label("Search in the text").fill("likes")
    screen.page.get_by_text(re.compile("40 in rows, 40 in columns")).wait_for()
    screen.page.keyboard.press("Enter")
    screen.eventually(screen.params, lambda found: {"row", "column", "at", "q"} <= found.keys())
    marked = screen.page.locator(".reading mark").first
    screen.eventually(lambda: marked.inner_text().lower(), lambda found: "li" in found)


def test_the_picture_can_be_taken_along(screen: Screen, tmp_path: Path) -> None:
    opened(screen)
    title = f"{SITE} · {HEAD}"
    assert "<image" in saved(screen, title, "Picture, SVG", tmp_path).read_text(encoding="utf-8")
    assert len(saved(screen, title, "Picture, PNG", tmp_path).read_bytes()) > 4000


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_in_the_way_of_anybody(screen: Screen, theme: str) -> None:
    opened(screen, theme=theme)
    screen.page.locator(".why dd").first.wait_for()
    assert screen.violations() == []
    screen.phone()
    assert screen.overflow() <= 0
