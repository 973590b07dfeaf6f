"""The worked examples that come with the package, by name."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from regard.errors import UnknownNameError
from regard.worked.reading import Example, parse, read_example

_FOLDER = files("regard.worked").joinpath("examples")


def names() -> list[str]:
    """What `--example` takes."""
    return sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def load(name: str) -> Example:
    """A shipped example, or an error that offers the nearest name."""
    if name not in names():
        raise UnknownNameError("example", name, names())
    text = _FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return read_example(parse(text, Path(f"{name}.toml")), name)
