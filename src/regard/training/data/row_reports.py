"""What is reported while rows are read: how many there were, and which were left out."""

from __future__ import annotations

from collections.abc import Iterator

from regard.text.corpora import CorpusReport, CorpusRow
from regard.training.recipe.source_rows import SourceRows
from regard.training.report.events import Listener, Note, Preparing

CHUNK = 2000  # rows between two reports


def with_progress(rows: SourceRows, what: str, listener: Listener) -> Iterator[CorpusRow]:
    """The rows, telling how many there were from time to time."""
    for number, row in enumerate(rows):
        if number % CHUNK == 0:
            listener(Preparing(what, number))
        yield row
    listener(Preparing(what, rows.report.usable, rows.report.usable))


def report_drops(name: str, report: CorpusReport, listener: Listener) -> None:
    unfit = bool(report.dropped or report.repaired)
    if unfit or report.notes:
        listener(Note("\n".join([f"{name} set:", *report.lines()]), warning=unfit))
