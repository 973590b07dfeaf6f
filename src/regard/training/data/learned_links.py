"""Links between words that are learned from the training pairs themselves, where nobody has any to give."""

from __future__ import annotations

from collections.abc import Mapping

from regard.text.scores.alignment_error import Link
from regard.text.word_hmm import LONGEST, agreed_links
from regard.training.data.row_sample import sample_pairs
from regard.training.recipe.source_rows import SourceRows
from regard.training.report.events import Listener, Note, Preparing

PAIRS = 320_000  # that links are learned from and made for, at most: under a minute of a core for short ones, and 2 GB
EDGES = ".,;:!?\"'()[]«»…“”’"  # what may stand around a word without being part of it

LinksByRow = Mapping[tuple[int, int], list[Link]]  # by source and number of the row


def learn_links(train: SourceRows, listener: Listener) -> LinksByRow:
    """For some pairs, all where there are no more than `PAIRS`."""
    rows = sample_pairs(train, PAIRS, LONGEST, "links between words", listener)
    pairs = [(plain_words(row.texts[0]), plain_words(row.texts[1])) for row in rows]
    links = agreed_links(pairs, lambda done, total: listener(Preparing("learning links between words", done, total)))
    by_row = {(row.source, row.number): each for row, each in zip(rows, links, strict=True) if each}
    listener(Note(f"one head is guided by links between words, learned from {len(rows):,} training pairs"))
    return by_row


def plain_words(text: str) -> list[str]:
    """What white space parts, in small letters and without the punctuation around it."""
    return [word.strip(EDGES) or word for word in text.lower().split()]
