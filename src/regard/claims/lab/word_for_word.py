"""Translation that looks up one word after the other, in a dictionary learned from the same pairs as the models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from regard.claims.lab.pair_task import PairIds, PairTask
from regard.text.grammar import words

ROUNDS = 5
Words = tuple[str, ...]


def words_of(task: PairTask, pair: PairIds) -> tuple[Words, Words]:
    """Source and target in whole words, whatever pieces the ids stand for."""
    return words(task.source.decode(pair.source).lower()), words(task.target.decode(pair.target).lower())


def likeliest(pairs: Sequence[tuple[Words, Words]]) -> dict[str, str]:
    """For each source word the target word that most likely translates it: the first model of Brown et al., 1993.

    Every target word is shared among the source words of its sentence as likely as each is to give it; from the shares
    follow the probabilities, and from these the shares.
    """
    chances: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        shares: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in pairs:
            for there in target:
                parts = [chances.get((here, there), 1.0) for here in source]
                whole = sum(parts)
                for here, part in zip(source, parts, strict=True):
                    shares[here, there] += part / whole
        totals: dict[str, float] = defaultdict(float)
        for (here, _there), share in shares.items():
            totals[here] += share
        chances = {pair: share / totals[pair[0]] for pair, share in shares.items()}
    best: dict[str, tuple[float, str]] = {}
    for (here, there), chance in chances.items():
        best[here] = max(best.get(here, (0.0, "")), (chance, there))
    return {here: there for here, (_, there) in best.items()}


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
