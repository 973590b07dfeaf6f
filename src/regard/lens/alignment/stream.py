"""Alignments of any number of pairs, some at a time, by one model or by two of either direction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.lens.alignment.bitext import Bitext
from regard.lens.alignment.decision import align
from regard.lens.alignment.links import AttentionReading
from regard.lens.alignment.pairs import SIDE_BY_SIDE
from regard.lens.alignment.symmetrise import symmetrised
from regard.tasks import Translator
from regard.text.scores.alignment_error import Link

AHEAD = 16  # batches aligned together: enough to put texts of like length side by side


@dataclass(frozen=True)
class Aligner:
    """A translator, and where its alignment is read."""

    translator: Translator
    reading: AttentionReading

    def links(self, texts: Bitext) -> list[list[Link]]:
        """(source word, target word) of each pair."""
        return align(self.translator, texts, [self.reading]).links(self.reading)


def stream(texts: Bitext, there: Aligner, back: Aligner | None = None, way: str = "grow-diag") -> Iterator[list[Link]]:
    """The links of each pair, in order; with a model of the other direction, those of both joined."""
    size = AHEAD * (there.translator.batch or SIDE_BY_SIDE)
    for first in range(0, len(texts.sources), size):
        some = texts.part(first, first + size)
        pair_links = there.links(some)
        if back is not None:
            others = back.links(some.swapped())
            pair_links = [
                symmetrised(links, [(i, j) for j, i in other], way)
                for links, other in zip(pair_links, others, strict=True)
            ]
        yield from pair_links
