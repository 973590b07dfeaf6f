"""What makes the book's pages: docstrings, the reference, pictures, notebooks."""

from __future__ import annotations

import nbformat
import pytest

import regard
from regard.cli import app
from tools.book_api import PAGES, api_page, command_page, directive
from tools.book_docstrings import as_rst
from tools.book_notebooks import NOTEBOOKS, cell_parts
from tools.book_pictures import figure, themed


def test_a_docstring_s_lists_and_signs() -> None:
    lines = ["Take `a*b` of *all* x_.", "", "mask     True = may look,", "         or a|b", "see      what", "", "End."]
    assert as_rst(lines) == [
        "Take ``a*b`` of \\*all\\* x\\_.", "", "* ``mask``: True = may look,", "  or a\\|b", "* ``see``: what", "",
        "End.", "",
    ]  # fmt: skip


def test_every_public_name_is_in_the_reference() -> None:
    shown = {name for page in PAGES.values() for name in page.names}
    assert {f"regard.{name}" for name in regard.__all__} <= shown


def test_a_function_with_overloads_is_shown_once() -> None:
    words = directive("regard.attend")
    assert words.startswith(".. autofunction:: regard.attend(query: Tensor, ")
    assert directive("regard.watch") == ".. autofunction:: regard.watch\n"
    assert ":members: generate\n" in directive("regard.Generator")
    assert api_page(PAGES["errors"]).startswith("# Errors\n")


def test_every_verb_is_in_the_reference() -> None:
    page = command_page()
    names = [command.callback.__name__ for command in app.registered_commands if command.callback]
    assert [line.removeprefix("## regard ") for line in page.splitlines() if line.startswith("## ")] == names
    assert "| `--scale NUMBER\\|none\\|sqrt(d)` |" in page


def test_dark_rules_follow_the_reader_s_choice() -> None:
    style = "<style>.p { x: 1 } @media (prefers-color-scheme: dark) {\n .p { x: 2 } .p a, .q { x: 3 }\n}</style>"
    found = themed(style)
    assert 'body[data-theme="dark"] .p { x: 2 }' in found
    assert 'body[data-theme="dark"] .p a, body[data-theme="dark"] .q { x: 3 }' in found
    assert '@media (prefers-color-scheme: dark) { body:not([data-theme="light"]) .p { x: 2 }' in found
    assert found.count("{") == found.count("}")
    assert "\n\n" not in figure("<svg>\n\n</svg>")


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: object) -> None:
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert cells
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    nbformat.validate(notebook)


def test_the_three_kinds_of_people_have_a_notebook() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == {"learner", "practitioner", "researcher"}


def test_outputs_are_shown_as_what_they_are() -> None:
    v4 = nbformat.v4
    outputs = [
        v4.new_output("stream", name="stdout", text="\x1b[1mbold\x1b[0m\n"),
        v4.new_output("stream", name="stderr", text="a warning"),
        v4.new_output("display_data", data={"image/svg+xml": "<svg></svg>", "text/plain": "SVG"}),
        v4.new_output("execute_result", data={"text/html": "<script></script>"}, execution_count=1),
        v4.new_output("display_data", data={"application/vnd.jupyter.widget-view+json": {}, "text/plain": "W"}),
        v4.new_output("execute_result", data={"text/plain": "3"}, execution_count=1),
    ]
    code, printed, picture, live, result = cell_parts(v4.new_code_cell("1 + 2", outputs=outputs))
    assert code == "```python\n1 + 2\n```"
    assert printed.endswith("\n\nbold\n```")
    assert "<svg></svg>" in picture
    assert "the live map" in live
    assert result.endswith("\n\n3\n```")
