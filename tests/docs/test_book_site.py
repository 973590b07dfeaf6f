"""The book, built: without a warning, every link and anchor leads somewhere, and nothing comes from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from regard.claims import NAMES
from tools.book import ROOT, put_together
from tools.book_api import PAGES

pytestmark = pytest.mark.xdist_group("book")  # in one process: it is built once


class PageLinks(HTMLParser):
    """What a page links to and loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.anchors |= {known[name] for name in ("id", "name") if name in known}
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        elif tag in ("script", "img", "iframe") and "src" in known:
            self.loaded.append(known["src"])
        elif tag == "link" and known.get("rel") not in ("index", "search", "next", "prev", "canonical"):
            self.loaded.append(known["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of `make docs`: notebooks and the gallery run on the way. A warning of Sphinx is an error."""
    book, site = tmp_path_factory.mktemp("book") / "book", tmp_path_factory.mktemp("site")
    put_together(book)
    options = ["--fail-on-warning", "--keep-going", "--quiet"]
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, book, site], cwd=ROOT, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return site


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, PageLinks]:
    files = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: PageLinks(path.read_text(encoding="utf-8")) for path in files}


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[Path, PageLinks]) -> None:
    for path, page in pages.items():
        for link in page.links:
            target, anchor = urldefrag(unquote(link))
            if re.match(r"[a-z]+:", target):
                continue
            file = (path.parent / target).resolve() if target else path
            assert file.is_file(), f"{path.relative_to(site)} links to {link}"
            if anchor and file in pages:
                assert anchor in pages[file].anchors, f"{path.relative_to(site)} links to {link}"


def test_nothing_comes_from_elsewhere(site: Path, pages: dict[Path, PageLinks]) -> None:
    for path, page in pages.items():
        for loaded in page.loaded:
            assert not re.match(r"[a-z]+:|//", loaded), f"{path.name} loads {loaded}"
            assert (path.parent / loaded.partition("?")[0]).is_file(), f"{path.name} loads {loaded}"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_what_is_promised_has_a_page(site: Path) -> None:
    names = [f"claims/{name}" for name in NAMES] + [f"api/{name}" for name in PAGES]
    people = [
        f"{kind}/{name}" for kind in ("tutorials", "notebooks") for name in ("learner", "practitioner", "researcher")
    ]
    for name in (*names, *people, "index", "gallery", "search", "api/command-line"):
        assert (site / f"{name}.html").is_file(), name
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert all(f'"{name}"' in index for name in people)


def test_a_function_with_overloads_is_shown_once_with_all_that_may_be_given(site: Path) -> None:
    for page, name, option in (
        ("attention", "attend", "see"),
        ("changing", "effect", "change"),
        ("models", "load", ""),
    ):
        html = (site / "api" / f"{page}.html").read_text(encoding="utf-8")
        (shown,) = re.findall(rf'<dt class="sig sig-object py" id="regard.{name}">(.*?)</dt>', html, re.DOTALL)
        assert shown.count(f'<span class="pre">{name}</span>') == 1
        assert option in shown


def test_a_search_fetches_nothing(site: Path) -> None:
    """Of files on a disk a browser would refuse it."""
    assert "SHOW_SEARCH_SUMMARY: false" in (site / "_static" / "documentation_options.js").read_text(encoding="utf-8")


def test_the_gallery_and_the_notebooks_show_what_came_out(site: Path) -> None:
    gallery = (site / "gallery.html").read_text(encoding="utf-8")
    assert gallery.count('<figure class="made') == 5
    for name in ("heads", "steps"):
        assert f'href="_static/gallery/{name}.html"' in gallery
        assert (site / "_static" / "gallery" / f"{name}.html").is_file()
    researcher = (site / "notebooks" / "researcher.html").read_text(encoding="utf-8")
    assert "0.9992" in researcher
    assert list((site / "_downloads").rglob("researcher.ipynb"))
