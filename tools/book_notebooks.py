"""The notebooks: committed without outputs, run from top to bottom for the book, and shown with what came out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tools.book_pictures import figure

NOTEBOOKS = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
SECONDS = 300  # that a cell may take before it counts as broken
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def notebook_pages(book: Path) -> dict[str, str]:
    """A page for each, beside the notebook itself."""
    pages = {}
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        (book / "scratch").mkdir(parents=True, exist_ok=True)
        pages[f"notebooks/{path.stem}.md"] = page_of(path.name, executed(path, book / "scratch"))
    return pages


def executed(path: Path, folder: Path) -> Any:
    """The notebook with its outputs; what its cells write lies in `folder`. A cell that raises is an error."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=SECONDS, coalesce_streams=True, resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def page_of(name: str, notebook: Any) -> str:
    parts = [part for cell in notebook.cells for part in cell_parts(cell)]
    parts.insert(1, f"*This page is a notebook, run when the book was built: {{download}}`{name} <{name}>`.*")
    return "\n\n".join(parts) + "\n"


def cell_parts(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    yield from dict.fromkeys(part for output in cell.outputs for part in output_parts(output))


def output_parts(output: Any) -> Iterator[str]:
    """A picture or a table where there is one, else the words; what is alive in a notebook is named."""
    if output.output_type == "stream":
        if output.name == "stdout" and output.text.strip():
            yield printed(output.text)
        return
    markup = output.data.get("image/svg+xml") or output.data.get("text/html")
    if "<script" in (markup or "") or "application/vnd.jupyter.widget-view+json" in output.data:
        yield "*Here a notebook shows the live map, to point at and to click.*"
    elif markup:
        yield figure(markup, "output")
    else:
        yield printed(output.data["text/plain"])


def printed(text: str) -> str:
    return f"```{{code-block}} text\n:class: output\n\n{COLOURS.sub('', text).rstrip()}\n```"
