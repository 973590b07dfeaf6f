"""Folders of real text in miniature, as the full forms of claims read them."""

from __future__ import annotations

import lzma
from collections.abc import Iterable
from pathlib import Path

from regard.text.grammar import sentences

COUNT = 40  # sentences of a set


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def tiny_multi30k(data: Path) -> Path:
    """`data`, which holds multi30k with a few sentences of the built-in language."""
    for name, file in (("train", "train"), ("valid", "val"), ("test", "test_2016_flickr")):
        pairs = sentences(name, COUNT)
        write_lines(data / "multi30k" / f"{file}.en.xz", (pair.source for pair in pairs))
        write_lines(data / "multi30k" / f"{file}.fr.xz", (pair.target for pair in pairs))
    return data


def tiny_wikitext(data: Path) -> Path:
    """`data`, which holds wikitext-2 with a few sentences of the built-in language."""
    for name in ("train", "valid", "test"):
        write_lines(data / "wikitext-2" / f"{name}.txt.xz", (f" {pair.source} " for pair in sentences(name, COUNT)))
    return data
