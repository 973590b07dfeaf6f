"""The script that draws is one piece, the same for pages and widgets, and needs nothing from anywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from regard.widget import script
from regard.widget.script import MODULES

HOME = files("regard.widget").joinpath("browser")


def test_every_module_is_in_it_and_imports_only_earlier_ones() -> None:
    assert sorted(f"{name}.js" for name in MODULES) == sorted(
        file.name for file in HOME.iterdir() if file.name.endswith(".js")
    )
    for place, name in enumerate(MODULES):
        imported = re.findall(r'from "\./(\w+)\.js"', HOME.joinpath(f"{name}.js").read_text(encoding="utf-8"))
        assert set(imported) <= set(MODULES[:place]), name


def test_what_a_module_imports_is_exported_there() -> None:
    for name in MODULES:
        code = HOME.joinpath(f"{name}.js").read_text(encoding="utf-8")
        for names, source in re.findall(r'^import \{([^}]*)\} from "\./(\w+)\.js";', code, flags=re.MULTILINE):
            theirs = HOME.joinpath(f"{source}.js").read_text(encoding="utf-8")
            for one in re.findall(r"\w+", names):
                assert re.search(rf"^export (async )?(function|class|const) {one}\b", theirs, flags=re.MULTILINE), one


def test_no_name_is_defined_twice() -> None:
    """They share one scope once they are joined."""
    names = re.findall(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", all_code(), flags=re.MULTILINE)
    assert len(names) == len(set(names))
    assert {"openAll", "render"} <= set(names)


def all_code() -> str:
    return "\n".join(HOME.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in MODULES)


def test_it_is_small_and_asks_nothing_of_a_network() -> None:
    assert len(script()) < 70_000
    for sign in ("http:", "https:", "import(", "fetch(", "XMLHttpRequest", "eval("):
        assert sign not in script()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to read it with")
def test_it_is_a_script_and_a_module(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(f"(() => {{\n{script()}\nopenAll(document);\n}})();", encoding="utf-8")
    (tmp_path / "widget.mjs").write_text(f"{script()}\nexport default {{ render }};", encoding="utf-8")
    for name in ("page.js", "widget.mjs"):
        subprocess.run(["node", "--check", str(tmp_path / name)], check=True)
