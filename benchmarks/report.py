"""Sections of RESULTS.md, written by the scripts that measured them."""

from __future__ import annotations

import platform
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

RESULTS = Path(__file__).with_name("RESULTS.md")


def provenance() -> str:
    """The command, the machine and the versions, in a line."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{torch.get_num_threads()} threads"
    script = Path(sys.argv[0]).stem
    command = shlex.join(["python", "-m", f"benchmarks.{script}", *sys.argv[1:]])
    return f"`{command}`, {platform.machine()}, {gpu}, torch {torch.__version__}"


def write_section(title: str, lines: Sequence[str], path: Path = RESULTS) -> None:
    """Put these lines under this heading, in the place of what stood there, else at the end."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# Results\n"
    section = f"## {title}\n\n" + "\n".join(lines).strip() + "\n"
    old = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    found = old.search(text)
    if found is None:
        path.write_text(text.rstrip() + "\n\n" + section, encoding="utf-8")
        return
    rest = text[found.end() :]
    path.write_text(text[: found.start()] + section + ("\n" + rest if rest else ""), encoding="utf-8")
