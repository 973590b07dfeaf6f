"""Files that are safe: what is renamed into place is on disk before."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until it is on disk: a rename may otherwise overtake what it renames."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
