"""Which columns are meant, where a file names them (a TSV's header, JSON, parquet), and where it does not."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence

from regard.errors import InputError, UnknownNameError
from regard.text.corpora.report import excerpt
from regard.text.corpora.rows import Columns, ReadOptions

PAIRS = (("source", "target"), ("src", "tgt"), ("src", "trg"))
LABELLED = (("text", "label"), ("sentence", "label"), ("text", "labels"), ("review", "sentiment"), ("text", "class"))
SINGLE = (("text",), ("sentence",), ("content",), ("line",))
LANGUAGES = """
    ar bg ca cs da de el en es et eu fa fi fr ga gl hr hu id it ja ko lt lv mt nl pl pt ro ru sk sl sr sv th tr uk vi zh
    eng fra fre deu ger spa ita por nld dut rus zho jpn english french german spanish italian portuguese dutch
"""  # without `is`, `no`, `he`, `hi`, which are words too
WORDS = """
    source target src tgt trg text label labels sentence sentence1 sentence2 id idx index score line content class
    category sentiment review input output question answer title lang language source_text target_text attribution
"""
HEADER = frozenset((LANGUAGES + WORDS).split())
ASIDE = frozenset(("id", "idx", "index", "url", "score", "meta", "line", "timestamp", "attribution"))  # never learned
CELL = 30  # characters of a cell that is shown
ROWS = 20  # fewer do not show which columns are numbers of rows
DISTINCT = 0.5  # of a column of whole numbers, above which they are numbers of rows and no labels


def is_header(fields: Sequence[str]) -> bool:
    """Whether the first row of a TSV names its columns rather than being text."""
    names = [field.strip().lower() for field in fields]
    return len(set(names)) == len(names) and HEADER.issuperset(names)


def choose(names: Sequence[str], options: ReadOptions, file: str, *, first: bool = False) -> list[str]:
    """The named columns to read; what was chosen without being asked for is noted.

    `first`: where the names do not say, the first ones, since the order of columns means something.
    """
    if options.columns is not None:
        return [asked(column, names) for column in options.columns]
    texts = [name for name in names if name.lower() not in ASIDE]
    chosen = familiar(names, options) or (texts[: options.fields] if first else texts)
    if len(chosen) != options.fields:
        raise InputError(
            f"{file} does not say which {'two columns' if options.fields == 2 else 'column'} to read",
            found=f"columns {', '.join(names)}" if names else "no columns",
            do=f"name them, for example {spelled(texts[: options.fields])}",
        )
    others = f" of {len(names)} columns; --columns reads others" if first and len(names) > options.fields else ""
    options.note(f"{file}: reads {' and '.join(chosen)}{others}")
    return chosen


def spelled(columns: Sequence[str | int]) -> str:
    """Columns as a command line and a recipe name them."""
    names = ",".join(str(column) for column in columns)
    return f"--columns {shlex.quote(names)} (in a recipe: columns = {json.dumps(list(columns), ensure_ascii=False)})"


def first_columns(rows: Sequence[Sequence[str]], fields: int) -> list[int] | None:
    """The first columns where rows have more than are wanted, without those that only number the rows; else None."""
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else fields
    if width <= fields:
        return None
    whole = [row for row in rows if len(row) == width]
    texts = [column for column in range(width) if not numbers(whole, column)]
    return (texts if len(texts) >= fields else list(range(width)))[:fields]


def numbers(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column holds the numbers of rows: whole ones, hardly any of them twice."""
    cells = [row[column].strip() for row in rows]
    return len(cells) >= ROWS and all(map(str.isdecimal, cells)) and len(set(cells)) > DISTINCT * len(cells)


def tell_columns(rows: Sequence[Sequence[str]], picked: list[int], file: str, options: ReadOptions) -> None:
    """Note which columns are read of a file that has more of them."""
    width = max(map(len, rows), default=0)
    shown = next((row for row in rows if len(row) > max(picked)), None)
    if width <= len(picked) or shown is None:
        return
    which = f"{'columns' if len(picked) > 1 else 'column'} {' and '.join(map(str, picked))}, counted from 0"
    begins = " | ".join(excerpt((shown[column],), CELL) for column in picked)
    other = ",".join(map(str, [*picked[:-1], *(n for n in range(width) if n not in picked)][: len(picked)]))
    advice = "" if options.columns is not None else f"; others by --columns, such as --columns {other}"
    options.note(f"{file} has {width} columns: reads {which} ({begins}){advice}")


def asked(column: str | int, names: Sequence[str]) -> str:
    """A column asked for by name or by number."""
    if isinstance(column, int):
        if column >= len(names):
            raise UnknownNameError("column", str(column), [f"{number} ({name})" for number, name in enumerate(names)])
        return names[column]
    if column not in names:
        raise UnknownNameError("column", column, names)
    return column


def familiar(names: Sequence[str], options: ReadOptions) -> list[str] | None:
    """The columns whose names say what they are."""
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(name.rpartition(".")[2].strip().lower(), name)
    candidates = (*PAIRS, *LABELLED) if options.fields == 2 else SINGLE
    languages: tuple[tuple[str, ...], ...] = (options.languages,) if options.languages and options.fields == 2 else ()
    for candidate in (*languages, *candidates):
        if all(name.lower() in known for name in candidate):
            return [known[name.lower()] for name in candidate]
    return None


def positions(columns: Columns, header: Sequence[str] | None) -> list[int]:
    """Columns of a TSV as numbers."""
    names = [name.strip() for name in header or ()]
    return [column if isinstance(column, int) else names.index(asked(column, names)) for column in columns]
