"""A person before the studio: opens addresses, reads numbers off the screen, clicks and types."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import pytest

from hatch_build import STUDIO

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator

T = TypeVar("T")
AXE = STUDIO / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE = 15_000  # milliseconds


class Screen:
    """One tab; what it complained of is in `complaints`, what it asked for in `requests`."""

    def __init__(self, browser: Browser, studio: str) -> None:
        self.studio = studio
        self.context = browser.new_context(
            viewport={"width": 1360, "height": 900}, color_scheme="light", locale="en-GB", accept_downloads=True,
            reduced_motion="reduce",
        )  # fmt: skip
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self.note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def note(self, message: ConsoleMessage) -> None:
        """A graphics driver without a card says how slow it is: that is about the machine."""
        if message.type in ("error", "warning") and "GL Driver Message" not in message.text:
            self.complaints.append(message.text)

    def close(self) -> None:
        self.context.close()

    def open(self, page: str = "steps", *, lang: str = "en", theme: str = "light", **params: Any) -> None:
        """A page of the studio by its address, in a language and a theme."""
        query = f"?{urlencode(params)}" if params else ""
        self.page.goto("about:blank")
        self.page.goto(f"{self.studio}/?lang={lang}&theme={theme}#/{page}{query}")
        self.page.wait_for_selector("main h1")

    def phone(self) -> None:
        self.page.set_viewport_size({"width": 375, "height": 740})

    def until(self, expression: str) -> None:
        """Asked again and again, from outside: the page's policy forbids it to evaluate strings by itself."""
        until = time.monotonic() + PATIENCE / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < until, f"never true: {expression}; complaints: {self.complaints}"
            self.page.wait_for_timeout(20)

    def eventually(self, read: Callable[[], T], right: Callable[[T], bool]) -> T:
        """What is read, once it is right: pages answer when they can."""
        until = time.monotonic() + PATIENCE / 1000
        while not right(found := read()):
            assert time.monotonic() < until, f"never right: {found}; complaints: {self.complaints}"
            self.page.wait_for_timeout(20)
        return found

    def shows(self, selector: str, text: str) -> None:
        """Waits until a part of the page says so."""
        self.eventually(lambda: self.text(selector), lambda found: text in found)

    def counts(self, selector: str, count: int) -> None:
        """Waits until there are so many."""
        self.eventually(self.find(selector).count, lambda found: found == count)

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def text(self, selector: str) -> str:
        return self.find(selector).inner_text()

    def params(self) -> dict[str, str]:
        """What stands in the address behind the page's name."""
        self.page.evaluate("dispatchEvent(new Event('pagehide'))")  # else it is written a moment after what it says
        found: dict[str, str] = self.page.evaluate(
            "Object.fromEntries(new URLSearchParams(location.hash.split('?').slice(1).join('?')))"
        )
        return found

    def number_table(self, step: str, head: int = 0) -> list[list[float]]:
        """The numbers of a matrix as they stand on the screen."""
        rows = self.page.eval_on_selector_all(
            f"[data-step={step}][data-head='{head}'] tbody tr",
            "rows => rows.map(row => [...row.querySelectorAll('td.cell')].map(cell => "
            "[...cell.childNodes].filter(node => node.nodeType === 3).map(node => node.data).join('').trim()))",
        )
        return [[number(cell) for cell in row] for row in rows]

    def cell(self, step: str, row: int, column: int, head: int = 0) -> Locator:
        return self.find(f"[data-step={step}][data-head='{head}'] [data-at='{row},{column}']")

    def violations(self) -> list[str]:
        """What axe-core finds wrong, each with the first elements it is about."""
        if not AXE.is_file():
            pytest.skip("axe-core is not installed: make studio")
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations)"
        )
        return [
            f"{one['id']}: {one['help']}: {json.dumps([node['html'][:160] for node in one['nodes'][:3]])}"
            for one in found
        ]

    def overflow(self) -> int:
        """How many pixels the page is wider than the screen."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def picture(self, path: Path, *, whole: bool = False) -> None:
        self.page.screenshot(path=path, full_page=whole)


def number(text: str) -> float:
    """As the page writes numbers: with a real minus, an infinity sign, a dot for what is not known."""
    return float(text.replace("−", "-").replace("∞", "inf").replace("·", "nan"))
