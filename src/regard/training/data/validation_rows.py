"""The rows to validate with: those of a set of its own, else a share of the training rows, which then lacks them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from regard.errors import InputError
from regard.text.corpora import CorpusRow, digest
from regard.training.data.prepared_text import TextRow
from regard.training.data.row_reports import report_drops, with_progress
from regard.training.recipe.recipe import Recipe
from regard.training.recipe.source_rows import SPAN, SourceRows, text_hash
from regard.training.report.events import Listener


def hold_back(recipe: Recipe, train: SourceRows, valid: SourceRows | None, listener: Listener) -> list[TextRow]:
    """The validation rows; `train` no longer gives them."""
    if valid is not None:
        rows = [row.texts for row in with_progress(valid, "reading the validation set", listener)]
        report_drops("validation", valid.report, listener)
    else:
        rows = split_off(recipe, train, listener)
    if not rows:
        raise InputError("the validation set is empty", do="name one with data.valid, or give more text")
    if recipe.task in ("translate", "classify"):
        train.unwanted = frozenset(digest(row[0]) for row in rows) if valid is not None else ()
    return rows


def split_off(recipe: Recipe, train: SourceRows, listener: Listener) -> list[TextRow]:
    """Texts by their hash, at least one and never all; of a running text its end, from a line with words on."""
    count, least, most = 0, SPAN, 0
    worded: deque[int] = deque(maxlen=recipe.data.held)
    for row in with_progress(train, "counting", listener):
        least, most = min(least, text_hash(row)), max(most, text_hash(row))
        worded += [count] if row.texts[0] else []
        count += 1
    wanted = min(recipe.data.held, max(count // 10, 1), len(worded))
    if recipe.task == "generate":
        first = worded[-wanted] if wanted else count
        train.wanted = lambda number, row: number >= first
        rest: Callable[[int, CorpusRow], bool] = lambda number, row: number < first  # noqa: E731
    else:
        limit = min(max(SPAN * wanted // count, least + 1), most)
        train.wanted = lambda number, row: text_hash(row) < limit
        rest = lambda number, row: text_hash(row) >= limit  # noqa: E731
    rows = [row.texts for row in train]
    train.wanted = rest
    return rows
