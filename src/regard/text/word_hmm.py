"""Which words of two texts stand for each other, learned from pairs alone: two hidden Markov models that must agree.

    p(target words | source words) = sum over positions a of  prod_j  p(a_j | a_j-1) p(t_j | s_a_j)
    share of a link (i, j)         = p(a_j = i | pair, this direction) * p(a_i = j | pair, the other direction)
    p(t | s)                       = sum of the shares of s with t / sum of its shares with every target word

In either direction each word stands for one of the other text, or for nobody; the next one is expected near it, as
far as the jumps seen so far say (Vogel et al. 1996). Both directions are learned from the same shares, the product of
what each expects, so that they agree, and neither gives rare words to whatever is left (Liang et al. 2006).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Words = Sequence[str]
Link = tuple[int, int]
Progress = Callable[[int, int], None]  # how much is done, of how much

LONGEST = 60  # words a side; longer pairs are given no links
NOBODY = 0.2  # the probability that a word stands for none
ROUNDS = 5  # without positions, then as many with them
FLAT = 0.1  # of a jump's probability, what every position has alike
LEAST = 1e-9  # the probability of words that were never seen together
RARE = 1e-4  # of all jumps, how many are as wide as any that was never seen
SURE = 0.2  # the share that a link has at least; chosen on 37 sentences of the Hansards aligned by hand
BLOCK = 1 << 22  # cells whose shares are added at a time


class JumpTable(NamedTuple):
    """How likely the next word's position is, from that of the word before, among so many."""

    start: Array  # of the first word: (positions,)
    steps: Array  # from, to


@dataclass(frozen=True)
class SameSizes:
    """Pairs with as many source words each, and as many target words: their cells stand in one array."""

    rows: Array  # which pairs they are
    targets: Array  # pairs x target words, by number
    sources: Array
    cells: Array  # pairs x source x target: the number of the two words in the table


class Posteriors(NamedTuple):
    """Of one direction: pairs x words x the other text's words, pairs x words for nobody, and the jumps by width."""

    links: Array
    nobody: Array
    jumps: Array


@dataclass
class Direction:
    """p(word | other text's word) for every cell, p(word | nobody), and how often each jump was made."""

    words: Array  # for each cell of the table the given word
    cells: Array  # its probability
    nobody: Array  # by word
    jumps: Array  # of widths -LONGEST + 1 ... LONGEST - 1

    def table(self, length: int) -> JumpTable:
        """From and to each of so many positions; the first word's jump is from before the first position."""
        middle = len(self.jumps) // 2
        offsets = np.arange(length)
        steps = self.jumps[middle + offsets[None, :] - offsets[:, None]]
        start = self.jumps[middle + 1 + offsets]
        return JumpTable(*(FLAT / length + (1 - FLAT) * each / each.sum(-1, keepdims=True) for each in (start, steps)))


def agreed_links(
    pairs: Sequence[tuple[Words, Words]], on_progress: Progress = lambda done, total: None, sure: float = SURE
) -> list[list[Link]]:
    """For each pair its links (source word, target word), learned from all of them."""
    links: list[list[Link]] = [[] for _ in pairs]
    for group, shares in learn(pairs, on_progress):
        for n, i, j in zip(*(axis.tolist() for axis in np.nonzero(shares >= sure)), strict=True):
            links[group.rows[n]].append((i, j))
    return links


def learn(pairs: Sequence[tuple[Words, Words]], on_progress: Progress) -> Iterator[tuple[SameSizes, Array]]:
    """The shares of every cell after all rounds, group by group."""
    groups, codes, width = grouped(pairs)
    if not groups:
        return
    sources, targets = np.divmod(codes, width)
    there = first_guess(sources, int(targets.max()) + 1)
    back = first_guess(targets, int(sources.max()) + 1)
    total = (2 * ROUNDS + 1) * sum(len(group.rows) for group in groups)
    done = 0
    for number in range(2 * ROUNDS):
        sums = SharedSums.of(there, back)
        for group in groups:
            sums.add(group, *both_ways(group, there, back, positions=number >= ROUNDS))
            done += len(group.rows)
            on_progress(done, total)
        there, back = sums.directions(there, back, jumps=number >= ROUNDS)
    for group in groups:
        one, other = both_ways(group, there, back, positions=True)
        done += len(group.rows)
        on_progress(done, total)
        yield group, one.links.transpose(0, 2, 1) * other.links


def grouped(pairs: Sequence[tuple[Words, Words]]) -> tuple[list[SameSizes], Array, int]:
    """The pairs by their sizes, the two words of every cell of the table as one number, and how that is made up."""
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    sizes: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(pairs):
        if all(0 < len(side) <= LONGEST for side in pair):
            sizes.setdefault((len(pair[0]), len(pair[1])), []).append(row)
            for side, known in zip(pair, numbers, strict=True):
                for word in side:
                    known.setdefault(word, len(known))
    width = len(numbers[1])
    parts, codes = [], []
    for size in sorted(sizes):
        most = max(BLOCK // (size[0] * size[1]), 1)
        for first in range(0, len(sizes[size]), most):
            rows = sizes[size][first : first + most]
            sides = [np.array([[known[word] for word in pairs[row][side]] for row in rows])
                     for side, known in enumerate(numbers)]  # fmt: skip
            once, cells = np.unique(sides[0][:, :, None] * width + sides[1][:, None, :], return_inverse=True)
            parts.append((np.array(rows), *sides, cells.reshape(len(rows), *size)))
            codes.append(once)
    if not codes:
        return [], np.zeros(0, np.int64), width
    known_codes = np.unique(np.concatenate(codes))
    groups = [
        SameSizes(rows, targets, sources, np.searchsorted(known_codes, once).astype(np.int32)[cells])
        for (rows, sources, targets, cells), once in zip(parts, codes, strict=True)
    ]
    return groups, known_codes, width


def first_guess(given: Array, words: int) -> Direction:
    """Every word is as likely as any other, and so is every jump."""
    return Direction(given, np.ones(len(given)), np.full(words, 1 / words), np.ones(2 * LONGEST + 1))


def both_ways(group: SameSizes, there: Direction, back: Direction, *, positions: bool) -> tuple[Posteriors, Posteriors]:
    """What either direction expects of each pair: links from target words, then from source words."""
    find = with_positions if positions else without_positions
    return (
        find(there, there.cells[group.cells].transpose(0, 2, 1), there.nobody[group.targets]),
        find(back, back.cells[group.cells], back.nobody[group.sources]),
    )


def without_positions(way: Direction, emission: Array, nobody: Array) -> Posteriors:
    """Every position as likely as any other: pairs x words x positions."""
    emission = emission * ((1 - NOBODY) / emission.shape[2])
    nobody = NOBODY * nobody
    total = emission.sum(2) + nobody + LEAST
    return Posteriors(emission / total[..., None], nobody / total, np.zeros(0))


def with_positions(way: Direction, emission: Array, nobody: Array) -> Posteriors:
    """Forwards and backwards. A word that stands for nobody leaves the position where it was.

    Each step is divided by its sum (`scales`), so that long texts stay within what a number can hold.
    """
    table = way.table(emission.shape[2])
    emission, nobody = (1 - NOBODY) * (emission + LEAST), NOBODY * (nobody + LEAST)
    placed, stays, scales = forwards(table, emission, nobody)
    links, unlinked = np.empty_like(emission), np.empty_like(nobody)
    jumped = np.zeros_like(table.steps)
    beyond = np.ones_like(emission[:, 0])
    for j in range(emission.shape[1] - 1, -1, -1):
        links[:, j], unlinked[:, j] = placed[:, j] * beyond, (stays[:, j] * beyond).sum(1)
        if j:
            onward = emission[:, j] * beyond / scales[:, j, None]
            jumped += (placed[:, j - 1] + stays[:, j - 1]).T @ onward
            beyond = onward @ table.steps.T + (nobody[:, j] / scales[:, j])[:, None] * beyond
    return Posteriors(links, unlinked, by_width(jumped * table.steps))


def forwards(table: JumpTable, emission: Array, nobody: Array) -> tuple[Array, Array, Array]:
    """Of every word: the probability of each position with it, of each without it, and the sum they were divided by."""
    placed, stays, scales = np.empty_like(emission), np.empty_like(emission), np.empty_like(nobody)
    for j in range(emission.shape[1]):
        before = placed[:, j - 1] + stays[:, j - 1] if j else np.broadcast_to(table.start, emission[:, 0].shape)
        placed[:, j] = (before @ table.steps if j else before) * emission[:, j]
        stays[:, j] = before * nobody[:, j, None]
        scales[:, j] = placed[:, j].sum(1) + stays[:, j].sum(1)
        placed[:, j] /= scales[:, j, None]
        stays[:, j] /= scales[:, j, None]
    return placed, stays, scales


def by_width(jumped: Array) -> Array:
    """From and to -> by how far."""
    offsets = np.arange(len(jumped))
    widths = LONGEST + offsets[None, :] - offsets[:, None]
    return np.bincount(widths.ravel(), jumped.ravel(), minlength=2 * LONGEST + 1)


@dataclass
class SharedSums:
    """What a round finds: the shares of every cell, of nobody in either direction, and the jumps."""

    cells: Array
    nobody: tuple[Array, Array]
    jumps: tuple[Array, Array]
    waiting: list[tuple[Array, Array]]
    count: int = 0

    @classmethod
    def of(cls, there: Direction, back: Direction) -> SharedSums:
        both = (there, back)
        nobody, jumps = ([np.zeros_like(getattr(way, name)) for way in both] for name in ("nobody", "jumps"))
        return cls(np.zeros(len(there.cells)), (nobody[0], nobody[1]), (jumps[0], jumps[1]), [])

    def add(self, group: SameSizes, there: Posteriors, back: Posteriors) -> None:
        shares = there.links.transpose(0, 2, 1) * back.links
        self.waiting.append((group.cells.ravel(), shares.ravel()))
        self.count += shares.size
        if self.count >= BLOCK:
            self.flush()
        for sums, words, way in zip(self.nobody, (group.targets, group.sources), (there, back), strict=True):
            sums += np.bincount(words.ravel(), way.nobody.ravel(), minlength=len(sums))
        for widths, way in zip(self.jumps, (there, back), strict=True):
            if way.jumps.size:
                widths += way.jumps

    def flush(self) -> None:
        """Many groups at a time: a sum over all cells of the table costs as much as its size."""
        if self.waiting:
            cells, shares = (np.concatenate(each) for each in zip(*self.waiting, strict=True))
            self.cells += np.bincount(cells, shares, minlength=len(self.cells))
        self.waiting, self.count = [], 0

    def directions(self, there: Direction, back: Direction, *, jumps: bool) -> tuple[Direction, Direction]:
        """The probabilities that follow."""
        self.flush()
        one, other = (
            Direction(
                way.words,
                self.cells / np.maximum(np.bincount(way.words, self.cells), LEAST)[way.words],
                nobody / max(nobody.sum(), LEAST),
                widths + RARE * (1 + widths.sum()) if jumps else way.jumps,
            )
            for way, nobody, widths in zip((there, back), self.nobody, self.jumps, strict=True)
        )
        return one, other
