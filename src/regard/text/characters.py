"""A text as a reader sees it: one character may be several code points."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import category

JOINER = "\u200d"
EXTEND = {JOINER, *map(chr, range(0x1F3FB, 0x1F400)), *map(chr, range(0xE0020, 0xE0080))}  # skin tones; tags of flags
FLAGS = {*map(chr, range(0x1F1E6, 0x1F200))}  # letters of which two are a flag


def characters(text: str) -> Iterator[str]:
    """What a reader takes for one character: a letter with its accents, an emoji with all that is joined to it."""
    cluster = ""
    for mark in text:
        if cluster and joins(cluster, mark):
            cluster += mark
            continue
        if cluster:
            yield cluster
        cluster = mark
    if cluster:
        yield cluster


def joins(before: str, mark: str) -> bool:
    """Does a mark belong to the character before it? By the rules of Unicode that matter in running text."""
    if before[-1].isspace() or category(before[-1]) in ("Cc", "Cs"):
        return False
    if mark in EXTEND or category(mark) in ("Mn", "Mc", "Me"):
        return True
    if before[-1] == JOINER:
        return category(mark) == "So"
    return mark in FLAGS and before in FLAGS
