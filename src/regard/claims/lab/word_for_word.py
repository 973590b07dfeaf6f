"""Translation that looks up one word after the other in a dictionary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from regard.claims.lab.pair_task import PairIds, PairTask
from regard.text.grammar import words

Words = tuple[str, ...]


def words_of(task: PairTask, pair: PairIds) -> tuple[Words, Words]:
    """Source and target in whole words, whatever pieces the ids stand for."""
    return words(task.source.decode(pair.source).lower()), words(task.target.decode(pair.target).lower())


def looked_up(dictionary: dict[str, str], source: Words) -> Words:
    """Word for word; a word that is in no dictionary stays."""
    return tuple(dictionary.get(word, word) for word in source)


def right_in_any_order(outputs: Iterable[Words], references: Iterable[Words]) -> float:
    """The share of words that occur in the reference too, each as often as it does there, of outputs and references."""
    common, total = 0, 0
    for output, reference in zip(outputs, references, strict=True):
        common += 2 * (Counter(output) & Counter(reference)).total()
        total += len(output) + len(reference)
    return common / max(total, 1)
