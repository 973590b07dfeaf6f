"""Formats whose columns have names: JSON lines and parquet."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from regard.errors import FileError
from regard.text.corpora.columns import choose
from regard.text.corpora.names import COMPRESSIONS
from regard.text.corpora.opening import library, open_bytes
from regard.text.corpora.rows import COLUMNS, INVALID, NOT_TEXT, RawRow, ReadOptions, texts_of, unwritable

NOT_JSON = "invalid JSON"
ROWS = 1024  # of parquet at a time


def read_json_lines(path: Path, file: str, options: ReadOptions) -> Iterator[RawRow]:
    """Each line is an object, whose keys are columns (`a.b` for a key inside a key), or a list."""
    keys: list[str | int] | None = None
    for number, text in enumerate(texts_of(path, file, options.encoding), 1):
        if isinstance(text, RawRow):
            yield text
            continue
        value = parsed(text)
        if number == 1 and looks_whole(text, value):
            raise FileError(f"{path} is not JSON lines", found="one JSON array", do="convert it: jq -c '.[]'")
        if keys is None and isinstance(value, dict):
            keys = list(choose(names_in(value), options, file))
        elif keys is None and isinstance(value, list):
            keys = list(options.columns or range(options.fields))
        yield json_row(text, value, keys, RawRow((), file, number), options)


def parsed(text: str) -> Any:
    """The value of one line; the text itself if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def looks_whole(text: str, value: Any) -> bool:
    """Whether a first line begins one array that is the whole file."""
    broken = text.lstrip().startswith("[") and value is text
    return broken or (isinstance(value, list) and bool(value) and isinstance(value[0], dict | list))


def json_row(text: str, value: Any, keys: list[str | int] | None, where: RawRow, options: ReadOptions) -> RawRow:
    """The wanted values of one line."""
    if not text.strip():
        return where._replace(texts=("",) * options.fields)
    if keys is None or not isinstance(value, dict | list):
        return where._replace(texts=(text,), problem=NOT_JSON if value is text else NOT_TEXT)
    try:
        values = [value_at(value, key) for key in keys]
    except (KeyError, IndexError, TypeError):
        return where._replace(texts=(text,), problem=COLUMNS)
    if isinstance(value, list) and not options.columns and len(value) != options.fields:
        return where._replace(texts=(text,), problem=COLUMNS)
    return row_of(values, where)


def names_in(value: dict[str, Any]) -> list[str]:
    """The keys of an object, and those of the objects in it."""
    names: list[str] = []
    for key, inner in value.items():
        names.extend([f"{key}.{name}" for name in inner] if isinstance(inner, dict) else [key])
    return names


def value_at(value: Any, key: str | int) -> Any:
    """What stands under a key, or under a key of a key."""
    if isinstance(key, str) and "." in key and key not in value:
        outer, _, inner = key.partition(".")
        return value[outer][inner]
    return value[key]


def row_of(values: list[Any], where: RawRow) -> RawRow:
    """A row of values that may be text, bytes, numbers or nothing."""
    texts = tuple(text for value in values if (text := as_text(value)) is not None)
    if len(texts) < len(values):
        return where._replace(texts=tuple(str(value) for value in values), problem=NOT_TEXT)
    return where._replace(texts=texts, problem=INVALID if unwritable(texts) else "")


def as_text(value: Any) -> str | None:
    """A value as text: numbers are labels, nothing is an empty text; anything else is no text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def read_parquet(path: Path, file: str, options: ReadOptions) -> Iterator[RawRow]:
    """Rows of a parquet file, a batch at a time; a struct's fields are columns named `a.b`."""
    arrow = library("pyarrow", f"reading {path.name}")
    parquet = library("pyarrow.parquet", f"reading {path.name}")
    number = 0
    try:
        with seekable(path) as handle, parquet.ParquetFile(handle, pre_buffer=False, buffer_size=1 << 20) as table:
            names = table.schema_arrow.empty_table().flatten().column_names
            keys = choose(names, options, file)
            for batch in table.iter_batches(ROWS, columns=keys, use_threads=False):
                flat = arrow.Table.from_batches([batch]).flatten()
                for values in zip(*(column_values(flat[key], arrow) for key in keys), strict=True):
                    number += 1
                    yield row_of(list(values), RawRow((), file, number))
    except (arrow.ArrowException, OSError) as error:
        raise FileError(f"{path} is no parquet that can be read", found=str(error), do="write it again") from error


def column_values(column: Any, arrow: Any) -> list[Any]:
    """The values of a column; text as bytes, so that one that is not UTF-8 does not stop the others."""
    if arrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if arrow.types.is_string(column.type):
        column = column.cast(arrow.binary())
    elif arrow.types.is_large_string(column.type):
        column = column.cast(arrow.large_binary())
    values: list[Any] = column.to_pylist()
    return values


@contextmanager
def seekable(path: Path) -> Iterator[IO[bytes]]:
    """A file that can be read from any place; a compressed one is unpacked to a temporary file."""
    if path.suffix.lower() not in COMPRESSIONS:
        with open_bytes(path) as file:
            yield file
        return
    with tempfile.TemporaryFile() as unpacked:
        with open_bytes(path) as file:
            shutil.copyfileobj(file, unpacked)
        unpacked.seek(0)
        yield unpacked
