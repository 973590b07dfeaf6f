"""Which columns are meant, where a file names them: in a TSV's header, a JSON object, a parquet schema."""

from __future__ import annotations

import json
from collections.abc import Sequence

from regard.errors import InputError, UnknownNameError
from regard.text.corpora.rows import Columns, Wanted

PAIRS = (("source", "target"), ("src", "tgt"), ("src", "trg"))
LABELLED = (("text", "label"), ("sentence", "label"), ("text", "labels"), ("review", "sentiment"), ("text", "class"))
SINGLE = (("text",), ("sentence",), ("content",), ("line",))
LANGUAGES = """
    ar bg ca cs da de el en es et eu fa fi fr ga gl hr hu id it ja ko lt lv mt nl pl pt ro ru sk sl sr sv th tr uk vi zh
    eng fra fre deu ger spa ita por nld dut rus zho jpn english french german spanish italian portuguese dutch
"""  # without `is`, `no`, `he`, `hi`, which are words too
WORDS = """
    source target src tgt trg text label labels sentence sentence1 sentence2 id idx index score line content class
    category sentiment review input output question answer title lang language source_text target_text
"""
HEADER = frozenset((LANGUAGES + WORDS).split())
ASIDE = frozenset(("id", "idx", "index", "url", "score", "meta", "line", "timestamp"))  # never what is to be learned


def is_header(fields: Sequence[str]) -> bool:
    """Whether the first row of a TSV names its columns rather than being text."""
    names = [field.strip().lower() for field in fields]
    return len(set(names)) == len(names) and HEADER.issuperset(names)


def choose(names: Sequence[str], wanted: Wanted, file: str) -> list[str]:
    """The named columns to read; what was chosen without being asked for is noted."""
    if wanted.columns is not None:
        return [asked(column, names) for column in wanted.columns]
    texts = [name for name in names if name.lower() not in ASIDE]
    chosen = familiar(names, wanted) or texts
    if len(chosen) != wanted.fields:
        raise InputError(
            f"{file} does not say which {'two columns' if wanted.fields == 2 else 'column'} to read",
            found=f"columns {', '.join(names)}" if names else "no columns",
            do=f"name them, for example columns = {json.dumps(texts[: wanted.fields])}",
        )
    wanted.note(f"{file}: reads {' and '.join(chosen)}")
    return chosen


def asked(column: str | int, names: Sequence[str]) -> str:
    """A column asked for by name or by number."""
    if isinstance(column, int):
        if column >= len(names):
            raise UnknownNameError("column", str(column), [f"{number} ({name})" for number, name in enumerate(names)])
        return names[column]
    if column not in names:
        raise UnknownNameError("column", column, names)
    return column


def familiar(names: Sequence[str], wanted: Wanted) -> list[str] | None:
    """The columns whose names say what they are."""
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(name.rpartition(".")[2].strip().lower(), name)
    candidates = (*PAIRS, *LABELLED) if wanted.fields == 2 else SINGLE
    languages: tuple[tuple[str, ...], ...] = (wanted.languages,) if wanted.languages and wanted.fields == 2 else ()
    for candidate in (*languages, *candidates):
        if all(name.lower() in known for name in candidate):
            return [known[name.lower()] for name in candidate]
    return None


def positions(columns: Columns, header: Sequence[str] | None) -> list[int]:
    """Columns of a TSV as numbers."""
    names = [name.strip() for name in header or ()]
    return [column if isinstance(column, int) else names.index(asked(column, names)) for column in columns]
