"""Rows of text for training, from files and from the built-in grammar, with some held back for validation."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from regard.text.corpora import Checks, Corpus, CorpusReport, CorpusRow, Source, digest
from regard.text.corpora.checks import IN_VALIDATION
from regard.text.grammar import is_grammar, read_name
from regard.text.slots import with_slots

SPAN = 1 << 64


def grammar_rows(value: str) -> list[tuple[str, str]]:
    """The pairs of "grammar:NAME", "grammar:NAME:COUNT" or "grammar:NAME:COUNT:SEED"."""
    return [(one.source, one.target) for one in read_name(value).sentences()]


@dataclass
class SourceRows:
    """Texts of several sources as one stream, again and again the same; `report` says what the last reading dropped."""

    values: Sequence[Any]  # as in a recipe
    base: Path
    checks: Checks
    unwanted: Collection[bytes] = ()
    wanted: Callable[[int, CorpusRow], bool] | None = None  # by number and row
    aside: float = 0.0  # the share of texts that are left out, with every pair they occur in
    slots: float = 0.0  # of the pairs that share words, how many are given with slots
    report: CorpusReport = field(default_factory=CorpusReport)

    def __post_init__(self) -> None:
        self.sources = [value if is_grammar(value) else Source.parse(value) for value in self.values]
        self.weights = weights_of(self.values)

    def extend(self, values: Sequence[Any]) -> None:
        """Further sources, which go through the same sieve."""
        self.values = [*self.values, *values]
        self.__post_init__()

    def __iter__(self) -> Iterator[CorpusRow]:
        self.report = CorpusReport()
        number = 0
        for index, source in enumerate(self.sources):
            for row in self.rows_of(source):
                if self.is_aside(row):
                    continue
                number += 1
                if self.wanted is None or self.wanted(number - 1, row):
                    yield self.slotted(row)._replace(source=index)

    def rows_of(self, source: str | Source) -> Iterator[CorpusRow]:
        if isinstance(source, str):
            for line, pair in enumerate(grammar_rows(source), 1):
                if digest(pair[0]) in self.unwanted:
                    example = f"{source}:{line} {pair[0]:.60}"
                    self.report.join(CorpusReport(dropped={IN_VALIDATION: 1}, examples={IN_VALIDATION: [example]}))
                else:
                    self.report.usable += 1
                    yield CorpusRow(pair, 0, source, line, line - 1)
            return
        corpus = self.corpus(source)
        yield from corpus
        self.report.join(corpus.report)

    def gives(self, texts: tuple[str, ...]) -> bool:
        """Whether a further row of these texts would be: it is neither aside nor held back, nor validated with."""
        row = CorpusRow(texts, 0, "", 0)
        wanted = self.wanted is None or self.wanted(0, row)
        return wanted and not self.is_aside(row) and digest(texts[0]) not in self.unwanted

    def is_aside(self, row: CorpusRow) -> bool:
        """By either side, so that a model of the other direction keeps the same pairs aside."""
        return bool(self.aside) and any(chosen(text, self.aside) for text in row.texts[:2])

    def rows_aside(self, index: int) -> Iterator[CorpusRow]:
        """Of one source, those whose source text is kept aside: no pair with that text is trained on."""
        return (row for row in self.rows_of(self.sources[index]) if chosen(row.texts[0], self.aside))

    def slotted(self, row: CorpusRow) -> CorpusRow:
        """Some pairs with slots: which ones and where is by the text alone, so the same in every reading."""
        if not self.slots or len(row.texts) < 2:
            return row
        rng = random.Random(text_hash(row))
        return row._replace(texts=with_slots(row.texts[0], row.texts[1], rng)) if rng.random() < self.slots else row

    def corpus(self, source: Source) -> Corpus:
        return Corpus([source], self.base, self.checks, self.unwanted)

    def check(self) -> list[str]:
        """Look before training: files that are not there, columns that do not fit, sides that look swapped."""
        corpora = [self.corpus(source) for source in self.sources if isinstance(source, Source)]
        return [note for corpus in corpora for note in corpus.check()]

    def fingerprint(self) -> dict[str, str]:
        """A digest of every file, and of what the built-in language says."""
        digests: dict[str, str] = {}
        for source in self.sources:
            if isinstance(source, Source):
                digests |= self.corpus(source).fingerprint()
            else:
                text = "\n".join("\t".join(pair) for pair in grammar_rows(source))
                digests[source] = blake2b(text.encode(), digest_size=16).hexdigest()
        return digests


def weights_of(values: Sequence[Any]) -> tuple[float, ...]:
    """How often an epoch reads each source."""
    return tuple(1.0 if is_grammar(value) else Source.parse(value).weight for value in values)


def text_hash(row: CorpusRow) -> int:
    """A number below `SPAN` by the row's text: the same for the same text."""
    return number_of(row.texts[0])


def number_of(text: str) -> int:
    return int.from_bytes(digest(text), "big")


def chosen(text: str, share: float) -> bool:
    """Whether a text is among such a share of all: those with the highest numbers; validation takes the lowest."""
    return number_of(text) >= SPAN - int(SPAN * share)
