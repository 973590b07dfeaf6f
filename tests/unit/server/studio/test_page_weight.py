"""The built page is light: whoever opens it does not wait for script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.studio_page import SCRIPT, script_bytes
from hatch_build import PAGE

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the studio's page is not built: make studio")


def test_all_script_is_less_than_300_kilobytes() -> None:
    assert SCRIPT == 300_000
    assert 50_000 < script_bytes() < SCRIPT


def test_every_script_is_counted(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name in ("early.js", "assets/a.js", "assets/b.css"):
        (tmp_path / name).write_bytes(bytes(range(256)))
    alone = script_bytes(tmp_path / "assets" / "index.html")
    assert script_bytes(tmp_path / "index.html") == 2 * alone > 2 * 256


def test_the_first_page_loads_no_other() -> None:
    """Each page's script comes when it is opened."""
    named = re.findall(r'(?:src|href)="\./([^"]+\.js)"', PAGE.read_text(encoding="utf-8"))
    assert named
    first = sum((PAGE.parent / name).stat().st_size for name in named)
    assert first < sum(file.stat().st_size for file in PAGE.parent.rglob("*.js")) / 3
