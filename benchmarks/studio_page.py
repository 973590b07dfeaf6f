"""How light is the studio's page? `python -m benchmarks.studio_page [RECORDING...]`.

Told are the bytes of all its script as gzip packs it, the milliseconds until Chromium first paints each page (as its
paint timing says, nothing cached, the server on this machine), and for each recording the bytes of numbers that its map
takes until somebody zooms. Ends with status 1 when script is 300 kB or more, a paint takes a second, or numbers a
megabyte.
"""

from __future__ import annotations

import argparse
import gzip
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import markdown
from hatch_build import PAGE
from tests.browser.chromium import program

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

PAGES = ("steps", "translate", "heads", "map", "compare", "training")
SCREEN = (1360, 900)
LOADS = 5
SCRIPT, PAINT, NUMBERS = 300_000, 1000.0, 1_000_000
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
ARRIVED = "document.querySelector('.stage')?.dataset.waiting === '0'"


def script_bytes(page: Path = PAGE) -> int:
    """All scripts of the built page, each packed as the server packs it."""
    return sum(len(gzip.compress(file.read_bytes(), mtime=0)) for file in page.parent.rglob("*.js"))


@contextmanager
def studio(recordings: Sequence[Path]) -> Iterator[str]:
    """A studio in a process of its own; its address."""
    command = [sys.executable, "-m", "regard", "studio", "--no-open", "--port", "0", *map(str, recordings)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        said = re.search(r"http://\S+?/", server.stderr.readline())
        try:
            assert said, "the studio did not start"
            yield said[0]
        finally:
            server.terminate()


@contextmanager
def fresh(browser: Browser) -> Iterator[Page]:
    """A tab that has nothing cached."""
    context = browser.new_context(viewport={"width": SCREEN[0], "height": SCREEN[1]}, locale="en-GB")
    yield context.new_page()
    context.close()


def first_paint(browser: Browser, address: str) -> float:
    with fresh(browser) as tab:
        tab.goto(address)
        tab.wait_for_selector("main h1")
        return float(tab.evaluate(PAINTED))


def numbers_before_zooming(browser: Browser, address: str) -> int:
    """The bytes of all answers that are numbers, until the map is complete."""
    answers: list[Response] = []
    with fresh(browser) as tab:
        tab.on("response", lambda answer: answers.append(answer))
        tab.goto(address)
        while not tab.evaluate(ARRIVED):
            tab.wait_for_timeout(50)
        tab.wait_for_load_state("networkidle")
        headers = [answer.headers for answer in answers]
    return sum(int(one["content-length"]) for one in headers if one.get("content-type") == "application/octet-stream")


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="*", type=Path)
    recordings = parser.parse_args().recordings
    with sync_playwright() as playwright, studio(recordings) as address:
        browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        first_paint(browser, address)  # the first load of all is the browser's own start
        paints = {page: [first_paint(browser, f"{address}#/{page}") for _ in range(LOADS)] for page in PAGES}
        maps = {one.stem: f"{address}#/map?model=recording:{one.stem}" for one in recordings}
        numbers = {name: numbers_before_zooming(browser, where) for name, where in maps.items()}
        browser.close()
    script = script_bytes()
    print(f"Script of all pages: {script / 1000:.0f} kB packed by gzip.\n")
    rows = [[page, f"{statistics.median(all_):.0f} ms", f"{max(all_):.0f} ms"] for page, all_ in paints.items()]
    print("\n".join(markdown([f"first paint of {LOADS} loads", "median", "slowest"], rows)))
    for name, size in numbers.items():
        print(f"\nThe map of {name} before any zoom: {size / 1000:.0f} kB of numbers.")
    slowest = max(max(one) for one in paints.values())
    return int(script >= SCRIPT or slowest >= PAINT or any(size >= NUMBERS for size in numbers.values()))


if __name__ == "__main__":
    raise SystemExit(main())
