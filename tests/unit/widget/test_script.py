"""The script that draws is one piece, the same for pages and widgets, and needs nothing from anywhere."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import zlib
from base64 import b64decode
from pathlib import Path

import pytest

from hatch_build import INSTALLED, LOOK, STUDIO, node
from regard.errors import FileError
from regard.widget import loader, packed_script, script

IMPORT = re.compile(r"""^\s*import\s(?!type\b)[^;]*?'(\.[^']+)';""", re.MULTILINE)
ENDS = ("", ".ts")
NETWORK = (
    "import(",
    "fetch(",
    "XMLHttpRequest",
    "eval(",
    "WebSocket",
    "EventSource",
    "new Function",
    "@import",
    "url(",
)
NAMED = re.compile(r"https?://(?!www\.w3\.org/|svelte\.dev/e/)")  # but names of XML, and pages that errors refer to
built = pytest.mark.skipif(not LOOK.is_file(), reason="the script that draws is not built: make studio")


def modules(entry: Path) -> set[str]:
    """A module, and all that it is made of."""
    found: set[Path] = set()
    waiting = [entry]
    while waiting:
        file = waiting.pop()
        if file in found or file.suffix not in (".ts", ".svelte"):
            continue
        found.add(file)
        for name in IMPORT.findall(file.read_text(encoding="utf-8")):
            base = (file.parent / name.partition("?")[0]).resolve()
            waiting.append(next(choice for end in ENDS if (choice := base.with_name(base.name + end)).is_file()))
    return {file.relative_to(STUDIO / "src").as_posix() for file in found}


def test_it_draws_with_the_studio_s_own_code_and_asks_no_server() -> None:
    found = modules(STUDIO / "src" / "widget" / "main.ts")
    assert {
        "views/heads/AllHeads.svelte", "views/heads/Glance.svelte", "views/heads/Scatter.svelte",
        "views/heads/HeadFull.svelte", "views/heads/Lines.svelte", "views/heads/WhyCell.svelte",
        "views/map/HeadMap.svelte", "views/map/Stage.svelte", "views/map/plate.ts", "primitives/Matrix.svelte",
    } <= found  # fmt: skip
    assert not {"contract/api.ts", "views/heads/reader.ts", "text/files.ts"} & found
    shared = modules(STUDIO / "src/views/heads/View.svelte") | modules(STUDIO / "src/views/map/View.svelte")
    pictures = {name for name in found - shared if name.startswith(("views/", "primitives/"))}
    assert pictures == {"views/heads/Around.svelte"}


@built
def test_it_defines_one_name_with_two_ways_in() -> None:
    assert re.match(r'("use strict";)?var regardLook\s*=', script())
    assert set(re.findall(r"\.(openAll|render)=[\w$]+", script()[-500:])) == {"openAll", "render"}


@built
def test_it_is_small_and_asks_nothing_of_a_network() -> None:
    assert len(gzip.compress(script().encode())) < 75_000
    assert len(packed_script()) < 100_000
    assert len(loader()) < 2_500
    for sign in NETWORK:
        assert sign not in script() + loader(), sign
    assert NAMED.search(script() + loader()) is None


@built
def test_what_a_page_carries_is_the_script_and_nothing_in_it_can_end_an_element() -> None:
    assert zlib.decompress(b64decode(packed_script(), validate=True)).decode() == script()
    assert not re.search("</script|<!--", loader(), re.IGNORECASE)


@built
@pytest.mark.skipif(not INSTALLED.is_file(), reason="there is no node to read it with")
def test_it_is_a_script_and_a_module(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(script(), encoding="utf-8")
    (tmp_path / "loader.js").write_text(loader(), encoding="utf-8")
    (tmp_path / "widget.mjs").write_text(f"{script()}\nexport default {{ render: regardLook.render }};", "utf-8")
    npm, environment = node()
    program = npm[0] if len(npm) > 1 else "node"
    for name in ("page.js", "loader.js", "widget.mjs"):
        subprocess.run([program, "--check", str(tmp_path / name)], env=environment, check=True)


def test_where_it_is_not_built_it_is_said_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.modules["regard.widget.script"], "files", lambda package: tmp_path)
    with pytest.raises(FileError, match="make studio"):
        script.__wrapped__()  # not what is remembered
