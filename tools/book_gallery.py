"""The gallery: its page shows the code that draws each picture, and the pictures are what that code gives."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path

from tools.book_pictures import figure

DOCS = Path(__file__).resolve().parent.parent / "docs"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^!\[[^\]]*\]\((\w[\w-]*\.svg)\)$", re.MULTILINE)
DOCUMENT = re.compile(r"\[([^\]]+)\]\((\w[\w-]*\.html)\)")


def gallery_pages() -> dict[str, str]:
    """The page with its pictures in it, and the pages that it links to."""
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_blocks(text, folder)
        documents = {f"_static/gallery/{path.name}": path.read_text(encoding="utf-8") for path in folder.glob("*.html")}
        page = PICTURE.sub(lambda found: figure((folder / found[1]).read_text(encoding="utf-8")), text)
    page = DOCUMENT.sub(r'<a href="_static/gallery/\2">\1</a>', page)
    return {"gallery.md": page, **documents}


def run_blocks(text: str, folder: Path) -> None:
    """The page's Python from top to bottom, in one namespace, as a reader would."""
    names: dict[str, object] = {}
    with contextlib.chdir(folder):
        for block in PYTHON.findall(text):
            exec(compile(block, "gallery.md", "exec"), names)
