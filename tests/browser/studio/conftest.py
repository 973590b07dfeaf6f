"""The studio in a real browser: its own server on this machine, Debian's Chromium, and no network beyond."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from hatch_build import PAGE
from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.studio_app import create_studio
from tests.browser.chromium import program
from tests.browser.studio.screen import Screen
from tests.studio_cases import recording, run_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One worker runs them all: one server, one browser."""
    missing = missing_part()
    config.addinivalue_line("markers", "xdist_group(name): known also where pytest-xdist is not used")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("studio in a browser"))
            if missing:
                item.add_marker(pytest.mark.skip(reason=missing))


def missing_part() -> str | None:
    if program() is None:
        return "no Chromium is installed"
    if importlib.util.find_spec("playwright") is None:
        return "playwright is not installed"
    return None if PAGE.is_file() else "the studio's page is not built: make studio"


@contextmanager
def serving(catalogue: StudioCatalogue) -> Iterator[str]:
    """A studio of its own thread; its address."""
    config = uvicorn.Config(create_studio(catalogue), host="127.0.0.1", port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started:
        assert thread.is_alive(), "the server does not start"
        assert time.monotonic() < until, "the server takes too long to start"
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio with what ships, a recording and a run; its address."""
    root = tmp_path_factory.mktemp("browsed")
    (root / "runs").mkdir()
    run_folder(root / "runs" / "half")
    with serving(StudioCatalogue.of([str(recording(root))], root / "runs")) as address:
        yield address


@pytest.fixture(scope="module")
def fresh_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio as `regard studio` opens it after a fresh clone: with nothing but what ships."""
    with serving(StudioCatalogue.of([], tmp_path_factory.mktemp("nothing"))) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ended with each module: while it runs, its event loop would be in the way of other tests'."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage", ALONE]
        browser = playwright.chromium.launch(executable_path=program(), args=flags)
        yield browser
        browser.close()


@contextmanager
def watched(browser: Browser, studio: str) -> Iterator[Screen]:
    """A tab of its own; no test may end with an error in the console, or with a request to elsewhere."""
    screen = Screen(browser, studio)
    yield screen
    screen.close()
    assert screen.complaints == []
    assert [address for address in screen.requests if not address.startswith((studio, "blob:", "data:"))] == []


@pytest.fixture
def screen(browser: Browser, studio: str) -> Iterator[Screen]:
    with watched(browser, studio) as screen:
        yield screen


@pytest.fixture
def newcomer(browser: Browser, fresh_studio: str) -> Iterator[Screen]:
    """Whoever opens the studio for the first time."""
    with watched(browser, fresh_studio) as screen:
        yield screen
