"""Docstrings as reStructuredText: what an aligned list of arguments, a backtick and a star mean to Sphinx.

The package's docstrings are plain text for people: paragraphs, and lists whose names stand at the margin with two or
more spaces behind them. Here each becomes what it looks like, and nothing else has a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

ITEM = re.compile(r"^(\S+(?: \S+)?)\s{2,}(\S.*)$")


def as_rst(lines: Iterable[str]) -> list[str]:
    """The paragraphs of a docstring, lists as lists."""
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    rst: list[str] = []
    for paragraph in paragraphs:
        rst += [*written(paragraph), ""]
    return rst


def written(paragraph: list[str]) -> Iterator[str]:
    if not paragraph:
        return
    if ITEM.match(paragraph[0]):
        yield from bullets(paragraph)
    elif paragraph[0].startswith("    "):
        yield from ("::", "", *paragraph)
    else:
        yield from (spelt(line.strip()) for line in paragraph)


def bullets(paragraph: list[str]) -> Iterator[str]:
    """Names at the margin, each with what stands behind it and in the indented lines below."""
    for line in paragraph:
        item = ITEM.match(line)
        if item and not line.startswith(" "):
            yield f"* ``{item[1]}``: {spelt(item[2])}"
        else:
            yield f"  {spelt(line.strip())}"


def spelt(text: str) -> str:
    """Single backticks become literals; outside them no sign has a meaning."""
    parts = re.split(r"`+([^`]+)`+", text)
    return "".join(f"``{part}``" if place % 2 else escaped(part) for place, part in enumerate(parts))


def escaped(text: str) -> str:
    return re.sub(r"([\\*|_])", r"\\\1", text)
