"""Names are the field's own: one name for one thing, and no verb in the past tense where a noun should stand."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "regard"
FILES = sorted(PACKAGE.rglob("*.py"))
INSTEAD = {
    "fed": "batch", "truth": "labels", "said": "output_ids, text", "spoken": "output_ids", "places": "positions",
    "told": "on_progress, or what it is", "teller": "listener", "grip": "session", "seen": "capture, recording",
    "trouble": "skipped steps", "at_rest": "eval_mode", "tracks": "steps of a site", "joining": "concat",
    "bands": "mask pattern", "made": "what it is", "kept": "what it is", "opened": "what it is", "found": "what it is",
}  # fmt: skip
ERRORS = ("errors.py", "found")  # what was found: a field of every error


def names_in(file: Path) -> Iterator[tuple[str, int]]:
    """Every name that a file gives: files, functions, classes, arguments, variables and attributes."""
    yield file.stem, 1
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


@pytest.mark.parametrize("room", sorted({file.relative_to(PACKAGE).parts[0] for file in FILES}))
def test_names_are_words_of_the_field(room: str) -> None:
    wrong = [
        f"{file.relative_to(PACKAGE)}:{line}: {name} -> {INSTEAD[name.lower()]}"
        for file in FILES
        if file.relative_to(PACKAGE).parts[0] == room
        for name, line in names_in(file)
        if name.lower() in INSTEAD and (file.name, name) != ERRORS
    ]
    assert not wrong, "\n".join(wrong)


def test_a_class_has_its_name_alone() -> None:
    """But for the claims that are tried: their files all have one shape, each with its cases and outcomes."""
    homes = defaultdict(list)
    for file in (file for file in FILES if file.parent.name != "tried"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_a_file_has_its_name_alone() -> None:
    """But for the command line, which has a file for each verb, and the claims, which have one for each of theirs."""
    homes = defaultdict(list)
    for file in FILES:
        if file.name not in ("__init__.py", "__main__.py") and file.parent.name not in ("cli", "tried"):
            homes[file.name].append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
