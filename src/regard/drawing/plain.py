"""What rich would show in a terminal as plain text: for print(), for files, and for a pipe."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def as_text(view: RenderableType, width: int = 110) -> str:
    """The same view without colours."""
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    console.print(view)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())
