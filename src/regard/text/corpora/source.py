"""One place that rows come from, as a recipe or a command line names it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import InputError, KindError, UnknownNameError
from regard.text.corpora.columns import spelled
from regard.text.corpora.encoding import UTF_8, known_encoding
from regard.text.corpora.rows import Columns

SETTINGS = ("file", "source", "target", "weight", "columns", "encoding")
FORMS = 'write "data.tsv", ["train.en", "train.fr"] or {file = "data.jsonl", columns = ["en", "fr"], weight = 2}'


@dataclass(frozen=True)
class Source:
    """One file of any format, or two whose lines belong together; a name may be a glob."""

    files: tuple[str, ...]
    weight: float = 1.0  # how often an epoch reads it; a Corpus gives each row once, whoever makes epochs repeats them
    columns: Columns | None = None  # TSV numbers from 0 or header names, JSON keys, parquet columns, TMX languages
    encoding: str = UTF_8  # of files of lines, as Python names it

    def __post_init__(self) -> None:
        if not 1 <= len(self.files) <= 2 or not all(isinstance(file, str) and file for file in self.files):
            raise InputError("a source is one file, or two line-aligned ones", found=repr(self.files), do=FORMS)
        if not is_number(self.weight) or not (0 < self.weight < math.inf):
            raise InputError(
                "the weight of a source must be a positive number",
                found=repr(self.weight),
                do="give 1 to read it once an epoch, 2 for twice, 0.5 for half of it; leave the source out for none",
            )
        if self.columns is not None:
            check_columns(self.columns, self.files)
        object.__setattr__(self, "encoding", known_encoding(self.encoding))  # one name, however it is spelt

    @classmethod
    def parse(cls, value: str | Sequence[str] | Mapping[str, Any] | Source) -> Source:
        """A source from any of the forms it may be written in."""
        if isinstance(value, Source):
            return value
        if isinstance(value, str | Path):
            return cls((str(value),))
        if isinstance(value, Mapping):
            return cls.from_settings(value)
        if isinstance(value, Sequence) and all(isinstance(file, str | Path) for file in value):
            return cls(tuple(str(file) for file in value))
        raise KindError("this is no source of text", found=repr(value), do=FORMS)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Source:
        """A source from a table of settings."""
        for name in settings:
            if name not in SETTINGS:
                raise UnknownNameError("setting of a source", str(name), SETTINGS)
        names = {"file", "source", "target"} & set(settings)
        if names not in ({"file"}, {"source", "target"}):
            raise InputError(
                "a source needs either `file`, or `source` and `target`",
                found=" and ".join(sorted(names)) or "none of them",
                do=FORMS,
            )
        files = tuple(settings[name] for name in ("file", "source", "target") if name in names)
        columns = settings.get("columns")
        if columns is not None:
            columns = tuple(columns) if isinstance(columns, list | tuple) else (columns,)
        return cls(
            tuple(str(file) if isinstance(file, Path) else file for file in files),
            weight=settings.get("weight", 1.0),
            columns=columns,
            encoding=settings.get("encoding", UTF_8),
        )


def as_columns(text: str) -> list[str | int]:
    """Columns as a command line gives them: "0,2" by number, "english,french" by name."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InputError(
            "columns are numbers from 0, or names, with commas between",
            found=repr(text),
            do="--columns 0,1, or --columns english,french",
        )
    return [int(name) if name.isdecimal() else name for name in names]


def with_reading(value: Any, columns: list[str | int] | None, encoding: str | None) -> Any:
    """A source as a recipe names it, with the columns and the encoding it does not name itself."""
    given = Source.parse(value)
    known: dict[str, Any] = dict(value) if isinstance(value, Mapping) else named(given.files)
    if columns is not None and len(given.files) == 1:
        known.setdefault("columns", columns)
    if encoding is not None:
        known.setdefault("encoding", encoding)
    return known if len(known) > len(given.files) else value


def named(files: Sequence[str]) -> dict[str, str]:
    """Files under the names that a table has for them."""
    return {"file": files[0]} if len(files) == 1 else dict(zip(("source", "target"), files, strict=True))


def is_number(value: object) -> bool:
    """Whether a value is a number; True and False are not meant as such."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_columns(columns: Columns, files: tuple[str, ...]) -> None:
    """Refuse columns that cannot be meant."""
    if len(files) == 2:
        raise InputError("columns are for a single file", found=f"{files} with columns {list(columns)}", do=FORMS)
    for column in columns:
        number = is_number(column) and isinstance(column, int) and column >= 0
        if not number and not (isinstance(column, str) and column):
            raise InputError(
                "a column is a number from 0, or a name", found=repr(column), do=f"for example {spelled([0, 1])}"
            )
