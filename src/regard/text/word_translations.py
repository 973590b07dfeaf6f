"""Which word stands for which, learned from pairs of sentences: the first model of Brown et al., 1993 (IBM model 1).

    share of s in t  =  p(t | s) / sum of p(t | s') over the source words s' of the pair, and nobody
    p(t | s)         =  sum of the shares of s in t / sum of its shares in every target word

Every target word of a pair is shared among its source words, as likely as each is to give it; from the shares follow
the probabilities, and from these the shares. Nobody is a source word of every pair, for what stands for no other.

The same pairs give the same numbers on every machine, whatever their order: they are sorted and added one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.text.store import ranges

NOBODY = ""
ROUNDS = 5
NEXT = 0.65  # as likely as the likeliest word: a word that may belong with it, as "quelque" does with "chose"
BLOCK = 1 << 20  # cells at a time: a cell is a source word beside a target word of its pair
PASS = 10_000  # pairs between two reports where nothing is computed
DIGITS = 9  # of probabilities that are compared: after them they differ by how sums were rounded

Array = NDArray[Any]
Words = Sequence[str]
WordPairs = Sequence[tuple[Words, Words]]
Progress = Callable[[int, int], None]  # how much is done, of how much


class LikelyWord(NamedTuple):
    """The word that most likely stands for another one, and the next likely if it is nearly (`NEXT`) as likely."""

    word: str
    probability: float
    second: str = ""


class MutualWords(NamedTuple):
    """Two words of which each is the likeliest translation of the other."""

    source: str
    target: str
    pairs: int  # that have both
    probability: float  # of the target word, given the source word
    reverse: float  # of the source word, given the target word
    phrase: float  # the share of these pairs with the next likely word of either as well


class TranslationTable(NamedTuple):
    """The probability of a target word, given a source word, for all that share a pair."""

    sources: Words
    targets: Words
    codes: Array  # number of the source word * number of target words + number of the target word; ascending
    probabilities: Array


@dataclass
class PassProgress:
    """Counts pairs over several passes of them."""

    report: Progress
    total: int
    done: int = 0

    def add(self, pairs: int = 0) -> None:
        """None: work goes on that is not counted."""
        self.done += pairs
        self.report(self.done, self.total)


def mutual_words(
    pairs: WordPairs, fewest: int = 1, on_progress: Progress = lambda done, total: None
) -> list[MutualWords]:
    """Those that so many pairs have both of, the most frequent first."""
    progress = PassProgress(on_progress, len(pairs) * (2 * ROUNDS + 3))
    there = likely_words(pairs, fewest, progress)
    back = likely_words([(target, source) for source, target in pairs], fewest, progress)
    mutual = {word: one for word, one in there.items() if one.word in back and back[one.word].word == word}
    counts, phrases = common_pairs(pairs, mutual, back, progress)
    rows = [
        MutualWords(word, one.word, counts[word], one.probability, back[one.word].probability,
                    phrases[word] / counts[word])
        for word, one in mutual.items() if counts[word] >= fewest
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row.pairs, row.source))


def common_pairs(
    pairs: WordPairs, mutual: Mapping[str, LikelyWord], back: Mapping[str, LikelyWord], progress: PassProgress
) -> tuple[Counter[str], Counter[str]]:
    """By source word how many pairs have it and its translation, and how many of these a second word of either."""
    counts, phrases = Counter[str](), Counter[str]()
    for number, (source, target) in enumerate(pairs, 1):
        ours, theirs = set(source), set(target)
        for word in ours:
            one = mutual.get(word)
            if one is not None and one.word in theirs:
                counts[word] += 1
                phrases[word] += one.second in theirs or back[one.word].second in ours
        if number % PASS == 0:
            progress.add(PASS)
    progress.add(len(pairs) % PASS)
    return counts, phrases


def likeliest(pairs: Iterable[tuple[Words, Words]], fewest: int = 1, *, nobody: bool = True) -> dict[str, str]:
    """For each source word of so many pairs the likeliest target word; of equally likely ones the last by spelling.

    Without `nobody` every target word stands for a source word.
    """
    some = list(pairs)
    progress = PassProgress(lambda done, total: None, len(some))
    return {word: one.word for word, one in likely_words(some, fewest, progress, nobody=nobody).items()}


def likely_words(
    pairs: WordPairs, fewest: int, progress: PassProgress, *, nobody: bool = True
) -> dict[str, LikelyWord]:
    """For each source word of so many pairs the likeliest target words."""
    some = [((NOBODY, *source) if nobody else tuple(source), tuple(target)) for source, target in pairs]
    progress.add()
    table = learn(some, progress)
    if not table.targets:
        return {}
    counts = Counter(word for source, _ in pairs for word in set(source))
    progress.add()
    groups, numbers = np.divmod(table.codes, len(table.targets))
    values = np.round(table.probabilities, DIGITS)
    best = highest(groups, values)
    columns = [groups[best], numbers[best], values[best]]
    values[best] = -1
    second = highest(groups, values)
    columns += [numbers[second], values[second] >= NEXT * columns[2]]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    words = {
        table.sources[s]: LikelyWord(table.targets[t], probability, table.targets[other] if near else "")
        for s, t, probability, other, near in rows
    }
    return {word: one for word, one in words.items() if word != NOBODY and counts[word] >= fewest}


def learn(pairs: Sequence[tuple[tuple[str, ...], tuple[str, ...]]], progress: PassProgress) -> TranslationTable:
    """Expectation and maximisation, `ROUNDS` times from equal probabilities."""
    ordered = sorted(pairs)
    progress.add()
    sources, targets = (sorted({word for pair in ordered for word in pair[side]}) for side in (0, 1))
    progress.add()
    blocks = list(cell_blocks(ordered, sources, targets, progress))
    if not blocks:
        return TranslationTable(sources, targets, np.zeros(0, np.int64), np.zeros(0))
    codes = once(np.concatenate([block.codes for block in blocks]))
    entries = [np.searchsorted(codes, block.codes).astype(np.int32) for block in blocks]
    progress.add()
    rows = codes // len(targets)
    probabilities = np.ones(len(codes))
    for _ in range(ROUNDS):
        sums = np.zeros(len(codes))
        for block, entry in zip(blocks, entries, strict=True):
            sums[entry] += block.sums(probabilities[entry])
            progress.add(block.pairs)
        probabilities = sums / np.bincount(rows, sums)[rows]
    return TranslationTable(sources, targets, codes, probabilities)


@dataclass(frozen=True)
class CellBlock:
    """The cells of some pairs; those of one target word stand together."""

    pairs: int
    codes: Array  # of the two words of every cell: ascending, each once
    cells: Array  # which of them each cell has
    lengths: Array  # how many cells each target word has

    def sums(self, probabilities: Array) -> Array:
        """Of the shares of each code, from its probability. `bincount` adds in order, on one thread."""
        owners = np.repeat(np.arange(len(self.lengths)), self.lengths)
        shares = probabilities[self.cells]
        shares /= np.bincount(owners, shares)[owners]
        return np.bincount(self.cells, shares, minlength=len(self.codes))


def cell_blocks(pairs: WordPairs, sources: Words, targets: Words, progress: PassProgress) -> Iterator[CellBlock]:
    """Every source word beside every target word of its pair."""
    ours, theirs = ({word: number for number, word in enumerate(side)} for side in (sources, targets))
    first, cells = 0, 0
    for number, (source, target) in enumerate(pairs, 1):
        cells += len(source) * len(target)
        if cells >= BLOCK or (cells and number == len(pairs)):
            yield cell_block(pairs[first:number], ours, theirs)
            progress.add(number - first)
            first, cells = number, 0


def cell_block(pairs: WordPairs, ours: Mapping[str, int], theirs: Mapping[str, int]) -> CellBlock:
    left = np.array([ours[word] for source, _ in pairs for word in source])
    right = np.array([theirs[word] for _, target in pairs for word in target])
    widths = np.array([len(source) for source, _ in pairs])
    heights = np.array([len(target) for _, target in pairs])
    lengths = np.repeat(widths, heights)
    codes = left[ranges(np.repeat(np.cumsum(widths) - widths, heights), lengths)] * len(theirs)
    codes += np.repeat(right, lengths)
    known, cells = np.unique(codes, return_inverse=True)
    return CellBlock(len(pairs), known, cells.astype(np.int32), lengths.astype(np.int32))


def once(numbers: Array) -> Array:
    """Ascending, each once. `unique` would hash them, which takes many times longer than sorting."""
    numbers.sort()
    return numbers[np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))]


def highest(groups: Array, values: Array) -> Array:
    """The position of the last highest value of each group; groups stand together."""
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    lengths = np.diff(starts, append=len(groups))
    best = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, starts), lengths))
    return best[np.flatnonzero(np.diff(groups[best], append=groups[-1] + 1))]
