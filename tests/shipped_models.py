"""Models that pretend to ship: a folder under a name such as en-fr, for the length of a test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from regard.interop import folders


def ship(monkeypatch: pytest.MonkeyPatch, **places: Path) -> None:
    """Let these ship beside what does: `en_fr` is called en-fr."""
    known = folders.shipped() | {name.replace("_", "-"): place for name, place in places.items()}
    monkeypatch.setattr(folders, "shipped", lambda: known)


def grammar_as(folder: Path, source: str = "en", target: str = "fr") -> Path:
    """The model of the built-in language in a folder of its own, which says that it translates these languages."""
    shutil.copytree(folders.shipped()["grammar"], folder)
    recipe = folder / "recipe.toml"
    text = recipe.read_text(encoding="utf-8")
    changed = text.replace('languages = ["en", "fr"]', f'languages = ["{source}", "{target}"]')
    recipe.write_text(changed, encoding="utf-8")
    return folder
