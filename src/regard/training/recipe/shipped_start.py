"""Text of one's own in languages that a model which ships knows: training then starts from that model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.interop.folders import general_translators, shipped
from regard.text.corpora import Checks, guess_kind
from regard.text.grammar import is_grammar
from regard.text.languages import language_of_texts
from regard.training.recipe.file_options import FileOptions
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import SourceRows

FIRST, SAMPLE = 4_000, 200  # rows that are read, and how many of them are looked at
SIZES = ("start", "model.", "tokenizer.")  # settings of a model that is not the one that ships


class ShippedStart(NamedTuple):
    """A model that ships, by name, and the languages of the text, which are its own."""

    name: str
    languages: tuple[str, str]


def shipped_start(
    files: Sequence[str], base: Path, options: FileOptions, languages: tuple[str, str] | None
) -> ShippedStart | None:
    """The model that ships for the languages of two columns, if they leave no doubt; `languages` if they were said."""
    known = general_translators()
    if not known or any(map(is_grammar, files)) or (len(files) == 2 and options.columns is not None):
        return None  # the last is for the recipe to refuse
    if guess_kind(tuple(files), base, options=options.read_options) != "pairs":
        return None
    languages = languages or languages_of_columns(files, base, options)
    if languages not in known:
        return None
    name = known[languages]
    return ShippedStart(str(shipped()[name]) if Path(name).exists() else name, languages)  # not a folder called like it


def languages_of_columns(files: Sequence[str], base: Path, options: FileOptions) -> tuple[str, str] | None:
    """In which languages the two columns of some rows are, spread over the first of a file."""
    source: Any = files[0] if len(files) == 1 else {"source": files[0], "target": files[1]}
    rows = SourceRows([options.apply_to(source)], base, Checks(fields=2, swapped=False))
    texts = [row.texts for row in islice(rows, FIRST)]
    texts = texts[:: max(len(texts) // SAMPLE, 1)]
    first, second = (language_of_texts([row[column] for row in texts]) for column in (0, 1))
    return None if first is None or second is None else (first, second)


def asks_for_another(keys: Collection[str], task: str | None) -> bool:
    """Whether settings or the task ask for a model that does not ship."""
    return task not in (None, "translate") or any(key.startswith(SIZES) for key in keys)


def shipped_start_words(recipe: Recipe) -> str:
    """Why training starts from a model that nobody named, and how to do without it."""
    languages = " and ".join(recipe.data.languages or ())
    return f"the text is {languages}, as {recipe.start} is: training starts from it; --scratch for fresh weights"
