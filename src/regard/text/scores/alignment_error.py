"""How far word alignments are from those that people made: alignment error rate, and the files alignments stand in.

A link (i, j) joins source word i and target word j, both counted from 0. In a file (Pharaoh's format) a line is one
sentence: "0-0 1-2" are links, and "3?4" or "3p4" one that is possible but not sure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from regard.errors import InputError
from regard.text.scores.counts import ratio
from regard.text.scores.pairing import check_pairs

Link = tuple[int, int]
WRITTEN = re.compile(r"(\d+)([-?p])(\d+)")


class Gold(NamedTuple):
    """The links of one sentence by hand: those any annotator would make, and all that are allowed, these included."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    def swapped(self) -> Gold:
        """The same, with the target as the source."""
        return Gold(*(frozenset((j, i) for i, j in links) for links in self))

    def pharaoh(self) -> str:
        """As a line, possible links with a question mark."""
        signs = {link: "-" if link in self.sure else "?" for link in self.possible | self.sure}
        return " ".join(f"{i}{sign}{j}" for (i, j), sign in sorted(signs.items()))


class AlignmentScore(NamedTuple):
    """Shares between 0 and 1, over all sentences together.

    aer        error rate: 1 - (links that are sure + links that are possible) / (links + sure links); 0 is perfect
    sure_only  the same where only sure links count as right: stricter to whoever makes more links
    precision  how many links are possible
    recall     how many sure links were made
    """

    aer: float
    sure_only: float
    precision: float
    recall: float
    sentences: int


def alignment_score(links: Sequence[Collection[Link]], gold: Sequence[Gold]) -> AlignmentScore:
    """The alignment error rate of some sentences, by Och and Ney (2003): counts are summed before they are divided."""
    check_pairs(links, gold, "sentences with gold links")
    predicted = sure = hits = allowed = 0
    for mine, reference in zip(map(frozenset, links), gold, strict=True):
        predicted, sure = predicted + len(mine), sure + len(reference.sure)
        hits += len(mine & reference.sure)
        allowed += len(mine & (reference.possible | reference.sure))
    return AlignmentScore(
        error(hits + allowed, predicted + sure), error(2 * hits, predicted + sure), ratio(allowed, predicted),
        ratio(hits, sure), len(gold),
    )  # fmt: skip


def error(right: int, whole: int) -> float:
    """Where nothing was to be linked and nothing was, nothing is wrong."""
    return 1 - right / whole if whole else 0.0


def pharaoh(links: Iterable[Link]) -> str:
    """Links as a line of Pharaoh's format, in order of the source."""
    return " ".join(f"{i}-{j}" for i, j in sorted(set(links)))


def parse_pharaoh(lines: Iterable[str], name: str = "the alignments") -> list[Gold]:
    """Sure and possible links of each line; `name` is what an error calls the file."""
    return [parse_line(line, f"{name}, line {number}") for number, line in enumerate(lines, 1)]


def parse_line(line: str, where: str) -> Gold:
    sure: set[Link] = set()
    possible: set[Link] = set()
    for word in line.split():
        match = WRITTEN.fullmatch(word)
        if match is None:
            raise InputError(
                f"{where}: no link", found=f"{word[:40]!r}", do="write i-j, or i?j where it is only possible; from 0"
            )
        link = int(match[1]), int(match[3])
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def check_links(gold: Gold, source_words: int, target_words: int, where: str) -> None:
    """Refuse links to words that the sentence does not have: numbers from 1, or the sides exchanged."""
    for i, j in sorted(gold.possible | gold.sure):
        if i >= source_words or j >= target_words:
            raise InputError(
                f"{where}: a link to a word that is not there",
                found=f"{i}-{j}, of {source_words} source and {target_words} target words",
                do="count words from 0, the source's first, and split texts as the links do",
            )
