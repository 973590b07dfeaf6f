"""Texts on standard input and output: one a line, whatever is in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator


def read_lines() -> Iterator[str]:
    """Standard input line by line; only a line feed ends a line, and what is not UTF-8 is marked, not fatal."""
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", errors="replace").rstrip("\n").removesuffix("\r")


def plain(text: str) -> str:
    """Control characters and line separators become spaces: a line stays a line."""
    return "".join(" " if char < " " or "\x7f" <= char <= "\x9f" or char in "\u2028\u2029" else char for char in text)
