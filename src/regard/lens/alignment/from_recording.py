"""Word alignment from what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.lens.alignment.choice import PairVotes, ReadingChoice, choose_by_itself
from regard.lens.alignment.links import AttentionReading, Pair, candidates, crossing, links, pair_of, votes
from regard.lens.alignment.word_spans import Split
from regard.lens.recording.forward import ForwardCall, HeadNumbers
from regard.text.scores.alignment_error import Link, pharaoh

Splits = Split | tuple[Sequence[str], Sequence[str]] | None


@dataclass(frozen=True)
class Alignment:
    """The links (source word, target word) of one pair of texts, its words, and where they were read."""

    links: list[Link]
    source: tuple[str, ...]
    target: tuple[str, ...]
    choice: ReadingChoice

    def __iter__(self) -> Iterator[Link]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    @property
    def words(self) -> list[tuple[str, str]]:
        """The links as words."""
        return [(self.source[i], self.target[j]) for i, j in self.links]

    def pharaoh(self) -> str:
        """As a line: "0-0 1-2", the source's word first, counted from 0."""
        return pharaoh(self.links)


def align_calls(
    calls: Sequence[ForwardCall], site: str | None, head: HeadNumbers, row: str | None, words: Splits, batch: int
) -> Alignment:
    """One text of the last call; what is not told of where to read is chosen on all texts of all calls."""
    call = calls[-1]
    heads = None if head is None else (head,) if isinstance(head, int) else tuple(head)
    readings = candidates(crossing(call), site, heads, row)
    pair = pair_of(call, batch, words)
    if len(readings) == 1:
        choice = ReadingChoice(readings[0], "as asked")
    else:
        choice = choose_by_itself(align_all(calls, readings, words if callable(words) else None))
    sources = votes(call, pair, [choice.reading], batch).sources[0].tolist()
    return Alignment(links(sources), pair.source.words, pair.target.words, choice)


def align_all(calls: Sequence[ForwardCall], readings: list[AttentionReading], words: Split | None) -> PairVotes:
    """What the readings say of every text that has all their sites."""
    wanted = {one.site for one in readings}
    texts: list[tuple[Pair, ForwardCall, int]] = [
        (pair_of(call, batch, words), call, batch)
        for call in calls
        if wanted <= set(call.sites) and call.text is not None
        for batch in range(len(call.text.ids))
    ]
    return PairVotes(
        readings, [pair for pair, *_ in texts], [votes(call, pair, readings, n) for pair, call, n in texts]
    )
