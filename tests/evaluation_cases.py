"""What models are scored on in tests."""

from __future__ import annotations

from pathlib import Path

Folders = dict[str, Path]


def written(path: Path, *rows: str) -> list[str]:
    """A file of these rows, as `read_data` takes it."""
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return [str(path)]
