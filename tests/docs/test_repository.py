"""What the repository says of itself is true: layers, architecture, README, lock, changelog."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from importlinter.application.use_cases import lint_imports
from importlinter.configuration import configure
from typer.testing import CliRunner

import regard
from regard.cli import app
from tools.architecture import architecture

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_upper_rooms_import_lower_ones_only(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None), capsys.readouterr().out


def test_architecture_is_current() -> None:
    assert (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8") == architecture(), "run `make architecture`"


def test_the_length_of_steps_is_as_the_readme_says() -> None:
    link = re.search(r"\[`attention/steps.py`\]\((\S+)\), (\d+) lines", README)
    assert link is not None
    assert len((ROOT / link[1]).read_text(encoding="utf-8").splitlines()) == int(link[2])


def shown_commands() -> list[tuple[str, str]]:
    """Each `$ regard ...` of the README with the output printed below it."""
    blocks = re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL)
    pairs = [re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] for block in blocks]
    return [(entry.partition("\n")[0], entry.partition("\n")[2]) for block in pairs for entry in block]


def verbs_shown() -> list[tuple[str, str, str]]:
    """Of those: what is piped in, the command, and its output."""
    found = []
    for line, shown in shown_commands():
        said, _, command = line.rpartition(" | ")
        text = f"{shlex.split(said)[1]}\n" if said.startswith("echo ") else ""
        found += [(text, command, shown)] if command.startswith("regard ") else []
    return found


@pytest.mark.parametrize(("text", "command", "shown"), verbs_shown())
def test_the_readme_shows_what_really_comes_out(text: str, command: str, shown: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command)[1:], input=text)
    printed = [line.rstrip() for line in result.stdout.splitlines()]
    for piece in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE):  # what stands together comes out together
        lines = [line.rstrip() for line in piece.strip("\n").splitlines()]
        starts = range(len(printed) - len(lines) + 1)
        assert any(printed[start : start + len(lines)] == lines for start in starts), piece


def test_the_readme_shows_some_commands() -> None:
    assert len(verbs_shown()) >= 2


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", python_blocks())
def test_the_readme_s_python_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})


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


SPELT = {"pillow": "PIL"}  # imported by another name than the one it is installed by


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
