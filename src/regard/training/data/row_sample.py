"""Some of the rows of a text, for what is learned from it before training: chosen by the texts, so always the same."""

from __future__ import annotations

from regard.text.corpora import CorpusRow
from regard.training.data.row_reports import with_progress
from regard.training.recipe.source_rows import SourceRows, number_of
from regard.training.report.events import Listener

Ranked = tuple[float, str, str, int, int]  # by what it is chosen, the texts, source and number of the row


def sample_pairs(train: SourceRows, most: int, longest: int, what: str, listener: Listener) -> list[CorpusRow]:
    """At most so many pairs, of so many words a side; a source is as likely as it weighs."""
    ranked: list[Ranked] = []
    limit = float("inf")
    for row in with_progress(train, f"reading pairs for {what}", listener):
        source, target = row.texts[:2]
        rank = number_of(f"words {source}") / train.weights[row.source]
        if rank <= limit and max(source.count(" "), target.count(" ")) < longest:
            ranked.append((rank, source, target, row.source, row.number))
        if len(ranked) >= 2 * most:
            ranked = sorted(ranked)[:most]
            limit = ranked[-1][0]
    return [
        CorpusRow((source, target), index, "", 0, number)
        for _, source, target, index, number in sorted(ranked)[:most]
    ]  # fmt: skip
