"""Every example of the README and of the book runs. Those of the gallery and of the notebooks run where it is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.page_runner import ROOT, Block, PageRunner, blocks, in_small, rehearsed

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if path.name != "gallery.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert PageRunner(monkeypatch).run(text) > 0
    monkeypatch.chdir("/")


def test_every_block_is_of_a_kind_that_is_run_or_no_example() -> None:
    """A language that nobody runs would let examples rot."""
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            known = block.language in ("python", "sh", "console", "text", "{toctree}", "{include}")
            assert known or block.file, f"{page.name}: a block of {block.language!r}"


def test_a_block_s_file_and_language_are_read() -> None:
    page = "```{code-block} toml\n:caption: a.toml\n\nname = 1\n```\n\n```sh\nregard info a\n```\n"
    assert list(blocks(page)) == [Block("toml", "name = 1\n", "a.toml"), Block("sh", "regard info a\n")]


def test_a_rehearsal_is_small_and_waits_for_nobody() -> None:
    words = in_small(["pairs.tsv", "--out", "mine", "--minutes", "10"])
    assert words[:5] == ["pairs.tsv", "--out", "mine", "--start", "grammar"]
    assert "training.steps=2" in words
    assert rehearsed(["studio"])[-3:] == ["--port", "0", "--no-open"]
    assert rehearsed(["info", "grammar"]) == ["info", "grammar"]
