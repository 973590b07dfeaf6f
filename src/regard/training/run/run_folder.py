"""The folder of a run: what it was asked to do, how far it is, and what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.errors import FileError, InputError
from regard.models.checkpoint import replace_file
from regard.text.corpora.encoding import UTF_8
from regard.training.recipe.recipe import Recipe, read_recipe, read_toml
from regard.training.report.curves import curves_html, curves_svg
from regard.version import __version__

LAYOUT = "training.layout"  # how weights lie in memory: a run may go on with them in another
FILES = ("train", "valid", "test")  # settings that only name files: what is in them counts, not what they are called


class RunFolder:
    """recipe.toml, run.json, log.jsonl and the curves of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def run(self) -> dict[str, Any]:
        """What run.json says, nothing when there is none."""
        try:
            run: dict[str, Any] = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise FileError(
                f"cannot read {self.path / 'run.json'}", found=str(error), do="choose another --out"
            ) from error
        return run

    @property
    def finished(self) -> bool:
        return self.run.get("status") == "finished"

    @property
    def plan(self) -> dict[str, Any]:
        """What a budget was turned into, nothing where there is none."""
        plan: dict[str, Any] = self.run.get("plan", {})
        return plan

    def begin(self, recipe: Recipe, corpus: dict[str, str]) -> None:
        """Claim the folder for a run; one that holds another run, or something else, is refused."""
        if not self.run:
            if (self.path / "config.json").exists():
                raise FileError(f"{self.path} already holds a model", found="config.json", do="choose another --out")
            self.write("recipe.toml", recipe.to_toml())
            self.update(status="running", regard=__version__, corpus=corpus)
            return
        differences = self.differences(recipe, corpus)
        if differences:
            raise InputError(
                f"{self.path} holds a run of another kind",
                found="; ".join(differences),
                do="give the same settings and text to go on with it, or choose another --out",
            )

    def differences(self, recipe: Recipe, corpus: dict[str, str]) -> list[str]:
        """Which settings and which texts are not those of the run in the folder, named."""
        before = read_recipe(self.plan.get("asked") or read_toml(self.path / "recipe.toml"))
        then, now = flat(before.model_dump()), flat(recipe.model_dump())
        changed = [
            f"{key} was {shown(then.get(key))}, is {shown(now.get(key))}"
            for key in sorted(then.keys() | now.keys())
            if then.get(key) != now.get(key)
            and key != LAYOUT
            and not any(key.startswith(f"data.{name}") for name in FILES)
        ]
        changed += [
            f"data.{name} was {shown(old)}, is {shown(new)}"
            for name in ("train", "valid")
            for old, new in [(getattr(before.data, name), getattr(recipe.data, name))]
            if ways(old) != ways(new)
        ]
        old: dict[str, str] = self.run.get("corpus", {})
        if sorted(old.values()) == sorted(corpus.values()):
            if list(old.values()) != list(corpus.values()):  # such as source and target, the other way round
                changed.append(f"the files were {', '.join(old)}, are {', '.join(corpus)}")
        else:
            changed += [f"{name} has changed" for name in sorted(corpus) if old.get(name, corpus[name]) != corpus[name]]
            changed += [f"{name} is new" for name in sorted(corpus.keys() - old.keys())]
            changed += [f"{name} is no longer read" for name in sorted(old.keys() - corpus.keys())]
        return changed

    def update(self, **what: Any) -> None:
        self.write("run.json", json.dumps({**self.run, **what}, indent=2, ensure_ascii=False) + "\n")

    def write(self, name: str, text: str) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            replace_file(self.path / name, lambda path: path.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise FileError(
                f"cannot write {self.path / name}", found=str(error), do="make room, or choose another --out"
            ) from error

    def log(self) -> list[dict[str, Any]]:
        """The rows of log.jsonl; a line cut short by a kill is passed over."""
        rows: list[dict[str, Any]] = []
        path = self.path / "log.jsonl"
        if path.is_file():
            for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                rows += [row] if isinstance(row, dict) else []
        return rows

    def draw(self, recipe: Recipe) -> None:
        """curves.svg and curves.html, from the log."""
        rows = self.log()
        self.write("curves.svg", curves_svg(rows))
        self.write("curves.html", curves_html(rows, recipe.name, recipe.to_toml()))


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names."""
    settings: dict[str, Any] = {}
    for key, value in data.items():
        settings |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return settings


def ways(sources: Sequence[Any]) -> list[tuple[Any, ...]]:
    """How often each source is read, which columns of it, and how: all but the names of its files."""
    tables = [source if isinstance(source, Mapping) else {} for source in sources]
    return [(table.get("weight", 1.0), table.get("columns"), table.get("encoding", UTF_8)) for table in tables]


def shown(value: Any) -> str:
    return "not set" if value is None else repr(value)
