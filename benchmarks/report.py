"""A benchmark's table in `RESULTS.md`: one section a question, written anew by each run that is asked to."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

RESULTS = Path(__file__).parent / "RESULTS.md"


def write_section(title: str, lines: Sequence[str], file: Path = RESULTS) -> None:
    """Put these lines under the heading `## title`, in the place of what stood there until the next such heading."""
    heading, text = f"## {title}", file.read_text(encoding="utf-8") if file.exists() else "# Results\n"
    body = "\n".join([heading, "", *lines, ""])
    before, found, rest = f"\n{text}".partition(f"\n{heading}\n")
    after = rest.partition("\n## ")[1:] if found else ()
    text = f"{before.rstrip()}\n\n{body}{''.join(after)}".lstrip("\n")
    file.write_text(text.rstrip() + "\n", encoding="utf-8")


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table, its first column to the left and numbers to the right."""
    ruler = ["---", *("---:" for _ in columns[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (columns, ruler, *rows)]


def provenance(device: str) -> str:
    """The command, the hardware and the versions that a table rests on."""
    script = Path(sys.argv[0])
    name = script.parent.name if script.stem == "__main__" else script.stem
    command = f"python -m benchmarks.{name} {' '.join(sys.argv[1:])}".rstrip()
    hardware = torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()}, CPU"
    return f"`{command}`, {hardware}, {torch.get_num_threads()} threads, torch {torch.__version__}, {triton_version()}."


def triton_version() -> str:
    try:
        import triton
    except ImportError:
        return "no triton"
    return f"triton {triton.__version__}"
