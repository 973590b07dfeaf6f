"""What a model is scored on: files of any format that training reads, or a set of the built-in grammar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.text.corpora import Checks, Corpus, CorpusRow, Source
from regard.text.grammar import Named, Sentence, is_grammar, read_name


@dataclass(frozen=True)
class PairSet:
    """Texts and their translations; those of the grammar come with all that is known of them."""

    sources: list[str]
    references: list[str]
    sentences: list[Sentence] = field(default_factory=list)
    language: str | None = None  # of the references
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LabelledSet:
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]
    notes: list[str]


@dataclass(frozen=True)
class TextSet:
    """Texts alone."""

    texts: list[str]
    notes: list[str]


@dataclass(frozen=True)
class EvaluationData:
    """One file, two line-aligned ones, or a grammar set, read as the model at hand needs it; `limit` rows at most."""

    source: Source
    base: Path = Path()
    limit: int | None = None

    @property
    def name(self) -> str:
        return " and ".join(self.source.files)

    @property
    def grammar(self) -> Named | None:
        """The grammar set, if it is one."""
        return read_name(self.source.files) if any(map(is_grammar, self.source.files)) else None

    def pairs(self) -> PairSet:
        """For translators."""
        if self.grammar is not None:
            sentences = self.sentences()
            sources, references = [one.source for one in sentences], [one.target for one in sentences]
            return PairSet(sources, references, sentences, "fr")
        rows, notes = self.rows(Checks(fields=2, longest=0))
        return PairSet([row.texts[0] for row in rows], [row.texts[1] for row in rows], notes=notes)

    def labelled(self) -> LabelledSet:
        """For classifiers."""
        if self.grammar is not None:
            raise InputError(
                f"{self.name} has no labels", found="pairs of sentences", do="give a file of texts and labels"
            )
        rows, notes = self.rows(Checks(fields=2, labelled=True, longest=0))
        return LabelledSet([row.texts[0] for row in rows], [row.texts[1] for row in rows], notes)

    def texts(self, *, blank_lines: bool = False) -> TextSet:
        """For language models, and for those that fill in words. Of a grammar set, its English."""
        if self.grammar is not None:
            return TextSet([one.source for one in self.sentences()], [])
        rows, notes = self.rows(Checks(fields=1, blank_lines=blank_lines))
        return TextSet([row.texts[0] for row in rows], notes)

    def sentences(self) -> list[Sentence]:
        """Those of the grammar set."""
        return [] if self.grammar is None else self.grammar.sentences(self.limit)

    def rows(self, checks: Checks) -> tuple[list[CorpusRow], list[str]]:
        """The rows of the files, and what to tell of those that were left out."""
        corpus = Corpus([self.source], self.base, checks)
        corpus.check()  # before the first rows: a file in another encoding, or with other columns
        rows = list(islice(corpus, self.limit))
        report = corpus.report
        dropped = [f"{count:,} left out: {why} ({report.examples[why][0]})" for why, count in report.dropped.items()]
        repaired = [f"{report.repaired:,} with control characters, which became spaces"] if report.repaired else []
        return rows, [*dropped, *repaired, *report.notes]


def read_data(
    files: str | Sequence[str] | Mapping[str, Any] | Source, base: Path = Path(), limit: int | None = None
) -> EvaluationData:
    """What to score on: ["pairs.tsv"], two files ["test.en", "test.fr"], ["grammar:unseen"], or as a recipe names it.

    Labels stand behind a tab for classifiers; language models take plain text. All is read when a model asks for it.
    """
    source = Source.parse(files)
    if limit is not None and limit < 1:
        raise InputError("limit must be at least 1", found=f"{limit}", do="leave it out to score everything")
    if any(map(is_grammar, source.files)):
        read_name(source.files)  # a wrong name is refused before a model is loaded
    return EvaluationData(source, base, limit)
