"""How well does the doubt of a translation foretell how good it is? `python -m benchmarks.doubt MODEL DATA...`

DATA is a set of the built-in language (grammar:long), a TSV of source and target, or two files of lines. Each text is
translated by the pipeline; the rank correlation (Spearman) of its doubt with the chrF of its translation is printed,
with the interval that holds 95 % of what other draws of the same texts give. The best is -1: the more doubt, the worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from sacrebleu.metrics.chrf import CHRF

from regard.tasks import Translator, load
from regard.tasks.pipeline import TranslationPipeline
from regard.text.corpora.opening import lines
from regard.text.grammar import is_grammar, read_name

DRAWS, SEED = 1000, 12345
PARTS = 4  # of the texts by doubt, whose chrF are shown


class Correlation(NamedTuple):
    """Spearman's, and the interval around it."""

    value: float
    low: float
    high: float


def ranks(values: Sequence[float]) -> NDArray[Any]:
    """From 1; what is equal shares the mean of its ranks."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[places]


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """0 where one of them is always the same."""
    a, b = ranks(first), ranks(second)
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def correlate(first: Sequence[float], second: Sequence[float], draws: int = DRAWS) -> Correlation:
    """With texts drawn again and again, with replacement."""
    rng, one, other = np.random.default_rng(SEED), np.asarray(first), np.asarray(second)
    samples = (rng.integers(0, len(one), len(one)) for _ in range(draws))
    low, high = np.quantile([spearman(one[rows], other[rows]) for rows in samples], [0.025, 0.975])
    return Correlation(spearman(first, second), float(low), float(high))


def sentence_chrf(outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    metric = CHRF()
    pairs = zip(outputs, references, strict=True)
    return [float(metric.sentence_score(output, [reference]).score) for output, reference in pairs]


def pairs_of(data: Sequence[str], count: int) -> list[tuple[str, str]]:
    """The first so many pairs."""
    if is_grammar(data[0]):
        return [(one.source, one.target) for one in read_name(data[0]).sentences(count)]
    columns = [[line.decode() for line in islice(lines(Path(file)), count)] for file in data]
    rows = [line.split("\t") for line in columns[0]] if len(data) == 1 else list(zip(*columns, strict=True))
    return [(row[0], row[1]) for row in rows if len(row) > 1 and row[0].strip()]


def main(model: str, data: list[str], count: int = 500, beams: int = 4) -> None:
    task = load(model)
    assert isinstance(task, Translator), f"{model} does not translate"
    pairs = pairs_of(data, count)
    answers = TranslationPipeline(task).translate([source for source, _ in pairs], beams=beams)
    scores = sentence_chrf([answer.text for answer in answers], [target for _, target in pairs])
    doubts = [answer.doubt for answer in answers]
    result = correlate(doubts, scores)
    means = f"mean doubt {np.mean(doubts):.3f}, mean chrF {np.mean(scores):.1f}"
    print(f"{model} on {' '.join(data)}: {len(pairs)} texts, {means}")
    print(f"Spearman of doubt and chrF {result.value:.3f} [{result.low:.3f}, {result.high:.3f}]")
    for part in np.array_split(np.argsort(doubts), PARTS):
        least, most = doubts[part[0]], doubts[part[-1]]
        print(f"  doubt {least:.3f} to {most:.3f}: mean chrF {np.mean(np.asarray(scores)[part]):.1f}")


if __name__ == "__main__":
    typer.run(main)
