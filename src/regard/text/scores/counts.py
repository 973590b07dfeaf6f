"""Scores that count: labels that are right, and pronouns that agree with the noun they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from regard.text.scores.pairing import check_pairs

if TYPE_CHECKING:
    from regard.text.grammar import Sentence


class Share(NamedTuple):
    """How many of those asked are right, between 0 and 1; 0 of 0 where there was nothing to ask."""

    share: float
    asked: int


class LabelScore(NamedTuple):
    """One label: how often it was right where it was said, how many of its texts were found, both in one; its texts."""

    label: str
    precision: float
    recall: float
    f1: float
    texts: int


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Share:
    """How many are exactly what they should be."""
    check_pairs(outputs, references, "true ones")
    return Share(
        sum(one == other for one, other in zip(outputs, references, strict=True)) / len(references), len(references)
    )


def confusion(outputs: Sequence[str], references: Sequence[str]) -> Counter[tuple[str, str]]:
    """How often each (true label, label said) occurs."""
    check_pairs(outputs, references, "true ones")
    return Counter(zip(references, outputs, strict=True))


def per_label(outputs: Sequence[str], references: Sequence[str], labels: Sequence[str]) -> list[LabelScore]:
    """Precision, recall and F1 of each label; 0 where nothing was said or nothing was there."""
    cells, predictions, there = confusion(outputs, references), Counter(outputs), Counter(references)
    rows: list[LabelScore] = []
    for label in labels:
        right = cells[label, label]
        precision, recall = ratio(right, predictions[label]), ratio(right, there[label])
        f1 = ratio(2 * right, predictions[label] + there[label])
        rows.append(LabelScore(label, precision, recall, f1, there[label]))
    return rows


def ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def pronoun_agreement(sentences: Sequence[Sentence], outputs: Sequence[str]) -> Share:
    """How many translations say il or elle as the noun asks, of those where that shows which noun was meant."""
    from regard.text.grammar import agreement

    check_pairs(outputs, sentences, "sentences")
    agreements = [agreement(sentence, output) for sentence, output in zip(sentences, outputs, strict=True)]
    asked = [right for right in agreements if right is not None]
    return Share(sum(asked) / len(asked) if asked else 0.0, len(asked))
