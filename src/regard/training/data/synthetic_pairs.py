"""Synthetic pairs on disk: which translations are good enough to learn from, and what a run has of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.models.checkpoint import replace_file
from regard.tasks.pipeline import Best
from regard.text.scores import chrf
from regard.training.data.durable import sync

FOLDER = "synthetic"  # inside that of a run
NAME = "pairs.json"
TAG = "\ue008"  # before what a model wrote: the first character for private use that is no slot
SLACK = 5  # characters that no ratio of lengths counts: "Oui." is no bad translation of "Yes, indeed."
LONGEST, TIMES = 4, 3  # words of a phrase, and how often in a row, that a model says when it has lost its way
NO_END, EQUAL, RATIO, REPEATED, FAR = (
    "came to no end", "equal sides", "lengths too different", "a phrase again and again", "too far from the reference"
)  # fmt: skip


class SyntheticSource(NamedTuple):
    """The pairs made of one source: their files, how much they weigh, how many there are, and what was left out."""

    stage: str
    files: tuple[str, str]  # relative to the folder of synthetic pairs
    weight: float
    pairs: int
    left_out: dict[str, int]


def ended_text(source: str, best: Best) -> str:
    """The best translation on one line; nothing where it came to no end."""
    return "" if best[0].cut else " ".join(best[0].text.split())


class PairFilter(NamedTuple):
    """What is asked of a translation."""

    ratio: float
    chrf: float = 0.0

    def fault(self, text: str, translation: str, reference: str | None = None) -> str:
        """Why it is not used; empty if it is."""
        if not translation:
            return NO_END
        if text == translation:
            return EQUAL
        lengths = sorted(len(side) + SLACK for side in (text, translation))
        if lengths[1] > self.ratio * lengths[0]:
            return RATIO
        if repeats(translation) and not repeats(text):
            return REPEATED
        if self.chrf and reference is not None and chrf([translation], [reference]).value < self.chrf:
            return FAR
        return ""


def repeats(text: str) -> bool:
    """Whether a phrase of a few words stands there several times in a row."""
    words = text.split()
    for size in range(1, LONGEST + 1):
        for first in range(len(words) - size * TIMES + 1):
            phrase = words[first : first + size]
            if all(words[first + n * size : first + (n + 1) * size] == phrase for n in range(1, TIMES)):
                return True
    return False


def write_pairs(
    files: Sequence[Path], rows: Iterable[tuple[str, str, str | None]], keep: PairFilter, *, back: bool, tag: bool
) -> tuple[int, dict[str, int]]:
    """Rows are (text, translation, reference). `back`: the translation is what a model reads, after a tag if wanted.

    Gives how many there are, and what was left out and why.
    """
    count, faults = 0, Counter[str]()
    with files[0].open("w", encoding="utf-8") as sources, files[1].open("w", encoding="utf-8") as targets:
        for text, translation, reference in rows:
            if fault := keep.fault(text, translation, reference):
                faults[fault] += 1
                continue
            count += 1
            source, target = (translation, text) if back else (text, translation)
            sources.write(f"{TAG} {source}\n" if tag else f"{source}\n")
            targets.write(f"{target}\n")
    for file in files:
        sync(file)
    return count, dict(sorted(faults.items()))


def text_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def write_synthetic(folder: Path, sources: Sequence[SyntheticSource]) -> None:
    """All is there: what it consists of."""
    text = json.dumps([one._asdict() for one in sources], ensure_ascii=False, indent=2)
    replace_file(folder / FOLDER / NAME, lambda path: path.write_text(text, encoding="utf-8"))


def read_synthetic(folder: Path) -> list[SyntheticSource] | None:
    """What a run's folder has of synthetic pairs; None where they are not all there."""
    try:
        rows = json.loads((folder / FOLDER / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return [SyntheticSource(**{**row, "files": tuple(row["files"])}) for row in rows]


def as_sources(folder: Path, synthetic: Sequence[SyntheticSource]) -> list[dict[str, Any]]:
    """As a recipe would name them: those that hold anything."""
    place = (folder / FOLDER).resolve()
    return [
        {"source": str(place / one.files[0]), "target": str(place / one.files[1]), "weight": one.weight}
        for one in synthetic
        if one.pairs
    ]
