"""Which reader a file gets, by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regard.errors import InputError
from regard.text.corpora.catalogues import read_catalogue
from regard.text.corpora.encoding import UTF_8
from regard.text.corpora.keyed import read_json_lines, read_parquet
from regard.text.corpora.line_files import read_aligned, read_plain, read_tsv
from regard.text.corpora.names import plain_name, shown
from regard.text.corpora.rows import RawRow, ReadOptions
from regard.text.corpora.tmx import read_tmx

SUFFIXES = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".tmx": "tmx",
    ".po": "catalogue",
    ".mo": "catalogue",
    ".parquet": "parquet",
}
READERS = {
    "tsv": read_tsv,
    "json": read_json_lines,
    "tmx": read_tmx,
    "catalogue": read_catalogue,
    "parquet": read_parquet,
}
SAYING = ("tmx", "catalogue", "parquet")  # formats that say how they are encoded


def format_of(path: Path) -> str:
    """The format a name tells; `text` for lines that may hold tabs."""
    return SUFFIXES.get(Path(plain_name(path)).suffix.lower(), "text")


def read(group: tuple[Path, ...], base: Path, options: ReadOptions) -> Iterator[RawRow]:
    """Every row of a file, or of two aligned ones."""
    files = [shown(path, base) for path in group]
    if len(group) == 2:
        refuse_structured(group)
        return read_aligned((group[0], group[1]), (files[0], files[1]), options.encoding)
    name = format_of(group[0])
    if options.encoding != UTF_8 and name in SAYING:
        raise InputError(
            f"{files[0]} says its encoding itself", found=f"--encoding {options.encoding}", do="leave the encoding out"
        )
    if name == "text" and options.fields == 1 and options.columns is None:
        return read_plain(group[0], files[0], options.encoding)
    return READERS.get(name, read_tsv)(group[0], files[0], options)


def refuse_structured(group: tuple[Path, ...]) -> None:
    """Aligned files are plain lines: anything else would be read as its markup."""
    for path in group:
        if format_of(path) not in ("text", "tsv"):
            raise InputError(
                "only files of plain lines can be aligned with one another",
                found=path.name,
                do=f'give it alone: {{file = "{path.name}", columns = [...]}}',
            )
