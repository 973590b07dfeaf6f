"""Is one translator better than another, or were these sentences kind to it? Paired bootstrap (Koehn 2004)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError
from regard.text.scores.pairing import check_pairs

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

# Names that sacreBLEU does not promise to keep; a test looks for them in the version that is installed.
NAMES = {
    f"sacrebleu.metrics.chrf.CHRF().{name}": "counts and scores of chrF for single sentences, which have no door;"
    " instead: sentence_score of every sentence in every draw, more slowly"
    for name in ("_extract_corpus_statistics", "_compute_f_score")
}
SEED = 12345
QUICK = 200  # draws that show how wide an interval is, while somebody waits


class Comparison(NamedTuple):
    """BLEU of both, ours minus theirs with the interval that holds 95 % of the resampled differences, and p.

    p is how often a difference at least this large, either way, would come about by the choice of sentences alone.
    """

    ours: float
    theirs: float
    difference: float
    low: float
    high: float
    p: float
    samples: int
    signature: str


def paired_bootstrap(
    ours: Sequence[str], theirs: Sequence[str], references: Sequence[str], samples: int = 1000, seed: int = SEED
) -> Comparison:
    """Score both on the same sentences, drawn again and again with replacement.

    The resampled differences, moved so that their mean is 0, are what chance does. Ties count as chance: a model
    against itself has p = 1 (sacreBLEU's own test, which counts only larger ones, would say 0.001).
    """
    check_pairs(ours, references)
    check_pairs(theirs, references)
    if samples < 1:
        raise InputError("samples must be at least 1", found=f"{samples}", do="1000 is usual")
    metric = plain_bleu(effective_order=True)
    statistics = [counts(metric, outputs, references) for outputs in (ours, theirs)]
    ours_score, theirs_score = (score(table.sum(0)) for table in statistics)
    differences = resampled(statistics[0], statistics[1], samples, seed)
    difference = ours_score - theirs_score
    extreme = int((np.abs(differences - differences.mean()) >= abs(difference)).sum())
    low, high = (float(edge) for edge in np.quantile(differences, (0.025, 0.975)))
    p = (extreme + 1) / (samples + 1)
    signature = signed(samples, seed)
    return Comparison(ours_score, theirs_score, difference, low, high, p, samples, signature)


def resampled(ours: NDArray[Any], theirs: NDArray[Any], samples: int, seed: int) -> NDArray[Any]:
    """The difference on each draw. Drawn one after the other: all at once would fill the memory for a large corpus."""
    rng, count = np.random.default_rng(seed), len(ours)
    draws = (rng.integers(count, size=count) for _ in range(samples))
    return np.array([score(ours[draw].sum(0)) - score(theirs[draw].sum(0)) for draw in draws])


def plain_bleu(*, effective_order: bool = False) -> BLEU:
    """sacreBLEU's own, imported only when something is scored; force: no warning when texts look tokenised."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(force=True, effective_order=effective_order)


def counts(metric: BLEU, outputs: Sequence[str], references: Sequence[str]) -> NDArray[Any]:
    """What BLEU counts in each sentence: matches and n-grams of each order, then both lengths. Sums are a corpus's."""
    rows = (metric.sentence_score(one, [reference]) for one, reference in zip(outputs, references, strict=True))
    return np.array([[*row.counts, *row.totals, row.sys_len, row.ref_len] for row in rows])


def score(sums: NDArray[Any]) -> float:
    """BLEU of a corpus from the sums of what was counted."""
    from sacrebleu.metrics.bleu import BLEU

    *grams, ours, reference = (int(number) for number in sums)
    order = len(grams) // 2
    return BLEU.compute_bleu(grams[:order], grams[order:], ours, reference, smooth_method="exp").score


def signed(samples: int, seed: int) -> str:
    metric = plain_bleu()
    metric.corpus_score([""], [[""]])  # a signature wants to know the number of references
    return f"{metric.get_signature()}|bs:{samples}|seed:{seed}"


def bleu_interval(outputs: Sequence[str], references: Sequence[str], samples: int = QUICK, seed: int = SEED) -> float:
    """By how much BLEU may be off, either way, for other sentences of the same kind: half of what holds 95 %."""
    check_pairs(outputs, references)
    return half_width(counts(plain_bleu(effective_order=True), outputs, references), score, samples, seed)


def chrf_interval(outputs: Sequence[str], references: Sequence[str], samples: int = QUICK, seed: int = SEED) -> float:
    """The same of chrF."""
    check_pairs(outputs, references)
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    table = np.array(metric._extract_corpus_statistics(list(outputs), [list(references)]))
    return half_width(table, lambda sums: float(metric._compute_f_score(sums.tolist())), samples, seed)


def half_width(table: NDArray[Any], value: Callable[[NDArray[Any]], float], samples: int, seed: int) -> float:
    """Half of the interval that holds 95 % of a score on sentences drawn again and again with replacement."""
    rng, count = np.random.default_rng(seed), len(table)
    draws = (rng.integers(count, size=count) for _ in range(samples))
    low, high = np.quantile([value(table[draw].sum(0)) for draw in draws], (0.025, 0.975))
    return float(high - low) / 2
