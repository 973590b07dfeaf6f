"""The options of every verb that reads files of text: which columns, and in which encoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.text.corpora import Source

COLUMNS = "Which columns of a file to read: numbers from 0, such as 0,2, or names, such as english,french."
ENCODING = "How the text is encoded, such as cp1252 (utf-8)."


def as_columns(text: str | None) -> list[str | int] | None:
    """The columns that an option names."""
    from regard.text.corpora import as_columns as parsed

    return None if text is None else parsed(text)


def source_of(files: Sequence[str], columns: str | None, encoding: str | None) -> Source:
    """What the arguments and options of a verb name."""
    from regard.text.corpora import Source, with_reading
    from regard.text.grammar import is_grammar

    given = [option for option in (columns, encoding) if option is not None]
    if given and any(map(is_grammar, files)):
        raise InputError("the built-in language has no columns and no encoding", found=given[0], do="leave it out")
    if columns is not None and len(files) == 2:
        raise InputError("columns are for a single file", found=" and ".join(files), do="leave out --columns")
    return Source.parse(with_reading(list(files), as_columns(columns), encoding))
