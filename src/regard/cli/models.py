"""`regard models`: what ships, and what lies in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.verb import show, size, write
from regard.errors import FileError

if TYPE_CHECKING:
    from rich.table import Table

    from regard.tasks.model_list import ModelEntry


def models(
    folder: Path = typer.Argument(Path(), metavar="FOLDER", help="Where to look for models of your own."),
    json: bool = typer.Option(False, "--json", help="The same as JSON, with all scores."),
) -> None:
    """List the models that ship with regard, and those that lie in FOLDER (here, if none is named).

    Every verb that takes a MODEL takes one of these names. Scores are those of the model's own run: BLEU for
    translators, on each set it was scored on. regard info NAME shows all of it, and the card.
    """
    import json as notation

    from regard.tasks.model_list import list_models

    if not folder.is_dir():
        raise FileError(f"{folder} is no folder", do="name one that holds models, or none for the one you are in")
    entries = list_models(folder)
    if json:
        write(notation.dumps([entry.to_dict() for entry in entries], ensure_ascii=False, indent=2), "-")
        return
    show(as_table(entries))
    if all(entry.ships for entry in entries):
        typer.echo(f"no models in {folder.resolve()}", err=True)


def as_table(entries: list[ModelEntry]) -> Table:
    """One row a model."""
    from rich.text import Text

    from regard.cli.score_tables import table

    grid = table("model", "languages", "family", "parameters", "size", "scores")
    for column in (1, 2, 5):
        grid.columns[column].justify = "left"
    grid.columns[0].no_wrap, grid.columns[5].no_wrap = True, False
    for entry in entries:
        languages = " to ".join(entry.languages or ())
        facts = [entry.family, f"{entry.parameters:,}", size(entry.bytes), score_line(entry)]
        cells = facts if not entry.problem else ["", "", "", entry.problem]
        grid.add_row(*(Text(cell) for cell in (entry.name + (" (ships)" if entry.ships else ""), languages, *cells)))
    return grid


def score_line(entry: ModelEntry) -> str:
    """The first score of each set: BLEU test 99.95, unseen 99.98."""
    from regard.training.report.run_log import score_name, score_words

    firsts = [(name, *next(iter(row.items()))) for name, row in entry.scores.items() if row]
    words: list[str] = []
    for place, (name, key, value) in enumerate(firsts):
        same = place > 0 and firsts[place - 1][1] == key
        words.append(f"{'' if same else score_name(key) + ' '}{name} {score_words(key, value)}")
    return ", ".join(words)
