"""Libraries that come with an extra."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from regard.errors import FileError


def library(name: str, path: Path) -> Any:
    """An optional library, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise FileError(
            f"{path} needs the library {name}", found=str(error), do='pip install "regard[documents]"'
        ) from error
