"""What a file seems to hold, from its first rows: for people who name a file and nothing else."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal

from regard.errors import InputError
from regard.text.corpora.encoding import UTF_8
from regard.text.corpora.formats import format_of, read
from regard.text.corpora.names import groups_of
from regard.text.corpora.opening import lines
from regard.text.corpora.rows import ReadOptions

FIRST = 100  # lines in which tabs are looked for
ROWS = 20  # fewer show nothing
DISTINCT = 50  # labels at most
LONGEST = 30  # characters of a label
REPEATED = 10  # how often labels occur on average

TRANSLATIONS = ("tmx", "catalogue")
DEFAULTS = ReadOptions()
Kind = Literal["pairs", "labelled", "lines"]


def suits_two_fields(path: str, base: Path, encoding: str = UTF_8) -> bool:
    """Whether one file can give rows of two fields."""
    group = groups_of((str(path),), Path(base))[0]
    kind = format_of(group[0])
    if kind in TRANSLATIONS:
        return True
    if kind in ("text", "tsv"):
        first = list(islice(lines(group[0], encoding), FIRST))
        return sum(b"\t" in line for line in first) > len(first) / 2
    try:
        next(read(group, Path(base), ReadOptions(encoding=encoding)), None)
    except InputError:  # it does not say which two
        return False
    return True


def guess_kind(files: tuple[str, ...], base: Path, sample: int = 5000, options: ReadOptions = DEFAULTS) -> Kind:
    """Pairs to translate, texts with labels, or lines of one text; `options` names columns and encoding."""
    one = options.columns is not None and len(options.columns) == 1
    if one or (not options.columns and len(files) == 1 and not suits_two_fields(files[0], base, options.encoding)):
        return "lines"
    group = groups_of(tuple(files), Path(base))[0]
    if format_of(group[0]) in TRANSLATIONS:
        return "pairs"
    try:
        second = second_texts(group, Path(base), sample, options)
    except InputError:
        if len(group) == 2 or options.columns:
            raise
        second = []
    if not second and not options.columns:
        second = second_texts(group, Path(base), sample, replace(options, columns=(0, 1)))
    return "labelled" if are_labels(second) else "pairs"


def second_texts(group: tuple[Path, ...], base: Path, sample: int, options: ReadOptions) -> list[str]:
    """What stands in the second column of the first rows."""
    rows = islice(read(group, base, options), sample)
    return [row.texts[1].strip() for row in rows if not row.problem and row.texts[1].strip()]


def are_labels(texts: list[str]) -> bool:
    """Whether texts are few, short, and repeated often."""
    distinct = set(texts)
    few = len(texts) >= ROWS and len(distinct) <= DISTINCT and len(texts) >= REPEATED * len(distinct)
    return few and max(map(len, distinct)) <= LONGEST
