"""What the repository says of itself is true: layers, architecture, README, lock, changelog."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from importlinter.application.use_cases import lint_imports
from importlinter.configuration import configure

import regard
from tools.architecture import architecture

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_upper_rooms_import_lower_ones_only(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None), capsys.readouterr().out


def test_architecture_is_current() -> None:
    assert (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8") == architecture(), "run `make architecture`"


def test_every_room_is_on_the_map() -> None:
    rooms = {file.parent.name for file in (ROOT / "src" / "regard").glob("*/__init__.py")} - {"recipes"}
    assert {"attention", "claims", "documents"} <= rooms
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert not [room for room in rooms if f"| [`{room}`](#{room}) |" not in text]


def test_the_length_of_steps_is_as_the_readme_says() -> None:
    link = re.search(r"\[`attention/steps.py`\]\((\S+)\), (\d+) lines", README)
    assert link is not None
    assert len((ROOT / link[1]).read_text(encoding="utf-8").splitlines()) == int(link[2])


def test_links_in_the_documents_lead_somewhere() -> None:
    for document in ROOT.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (ROOT / target).exists(), f"{document.name} links to {target}"


def test_files_that_documents_name_are_there() -> None:
    for document in (*ROOT.glob("*.md"), *(ROOT / "benchmarks").glob("*.md")):
        for name in re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|toml))`", document.read_text(encoding="utf-8")):
            homes = (ROOT / name, ROOT / "src" / "regard" / name)
            assert any(home.exists() for home in homes), f"{document.name} names {name}"


def test_every_requirement_is_pinned() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    pinned = {normal(pin.partition("==")[0]) for pin in pins}
    wanted = {normal(re.split(r"[<>=!~;\[ ]", requirement)[0]) for requirement in requires("regard") or []}
    assert wanted <= pinned
    assert "torch==2.13.0" in pins


SPELT = {"pillow": "PIL", "scikit-learn": "sklearn"}  # imported by another name than the one it is installed by


def test_every_requirement_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name != "dev"}
    lines = [*project["dependencies"], *(line for wanted in extras.values() for line in wanted)]
    wanted = {re.split(r"[<>=!~;\[ ]", line)[0] for line in lines}
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    unused = {name for name in wanted if not re.search(rf"\b{SPELT.get(name, name.replace('-', '_'))}\b", code)}
    assert not unused


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_changelog_knows_this_version() -> None:
    assert f"## {regard.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_entry_point_is_the_command_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"regard": "regard.cli:app"}
