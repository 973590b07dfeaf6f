"""A file that people translate, translated: what is open in it is filled in, what is there stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Unpack

from regard.documents import Document, GuardedTranslation, Segment, SegmentTranslation, open_document, translate_guarded
from regard.tasks.pipeline import TranslatedText
from regard.tasks.translator import SearchOptions
from regard.text.corpora import guess_language

BATCH = 64  # segments between two reports of how far it is


class TextTranslator(Protocol):
    """What is needed of a pipeline."""

    def translate(self, texts: Sequence[str], **options: Unpack[SearchOptions]) -> list[TranslatedText]:
        """The translation of each text, in order."""


class DocumentRequest(NamedTuple):
    """What is translated, where it goes, and from which language into which, where that is known."""

    source: Path
    out: Path
    languages: tuple[str, str] | None = None
    anew: bool = False  # whether translations that `out` has already are made again


class DocumentProgress(NamedTuple):
    """How many of the open segments are done."""

    done: int
    total: int


class SegmentReport(NamedTuple):
    """What became of a segment."""

    place: str
    source: str
    target: str | None
    filled: bool = False  # by this run
    doubt: float = 0.0  # 0 sure .. 1
    fallback: bool = False  # whether its text was translated piece by piece, to keep its tags where they were
    unused_terms: tuple[str, ...] = ()
    cut: bool = False


class DocumentReport(NamedTuple):
    """What became of a document."""

    rows: tuple[SegmentReport, ...]
    in_target_language: bool = False  # whether nothing was done since it reads as a translation already

    @property
    def segments(self) -> int:
        return len(self.rows)

    @property
    def filled(self) -> int:
        return sum(row.filled for row in self.rows)

    @property
    def unchanged(self) -> int:
        """Segments that are as they were."""
        return self.segments - self.filled

    @property
    def fallbacks(self) -> int:
        return sum(row.fallback for row in self.rows)

    @property
    def cut(self) -> int:
        return sum(row.cut for row in self.rows)

    @property
    def unused_terms(self) -> dict[str, int]:
        """Terms of the glossary that could not be used, and in how many segments."""
        return dict(Counter(term for row in self.rows for term in row.unused_terms))

    @property
    def doubts(self) -> list[SegmentReport]:
        """What was filled in, the most doubtful first."""
        return sorted((row for row in self.rows if row.filled), key=lambda row: -row.doubt)


def translate_document(
    request: DocumentRequest,
    pipeline: TextTranslator,
    listener: Callable[[DocumentProgress], None] = lambda progress: None,
    **options: Unpack[SearchOptions],
) -> DocumentReport:
    """Fill in what is open in a file and write it elsewhere; `listener` hears how far it is.

    Where `out` holds the same segments with translations from an earlier run, those stay, with all that people changed.
    """
    document = starting_point(request)
    segments = document.segments()
    finished = not document.bilingual and reads_as_target(segments, request.languages)
    open_numbers = [] if finished else [number for number, segment in enumerate(segments) if segment.is_open]

    def translate(texts: list[str]) -> list[SegmentTranslation]:
        return [SegmentTranslation(*answer) for answer in pipeline.translate(texts, **options)]

    answers: dict[int, GuardedTranslation] = {}
    listener(DocumentProgress(0, len(open_numbers)))
    for start in range(0, len(open_numbers), BATCH):
        batch = open_numbers[start : start + BATCH]
        guarded = translate_guarded([segments[number].source for number in batch], translate)
        for number, answer in zip(batch, guarded, strict=True):
            answers[number] = answer
            if answer.text is not None:
                document.fill(number, answer.text)
        listener(DocumentProgress(start + len(batch), len(open_numbers)))
    document.save(request.out)
    rows = [row_of(segment, answers.get(number)) for number, segment in enumerate(segments)]
    return DocumentReport(tuple(rows), finished)


def row_of(segment: Segment, answer: GuardedTranslation | None) -> SegmentReport:
    row = SegmentReport(segment.place, segment.source, segment.target)
    if answer is None:
        return row
    return row._replace(
        target=answer.text, filled=answer.text is not None, doubt=answer.doubt, fallback=answer.fallback,
        unused_terms=answer.unused_terms, cut=answer.cut,
    )  # fmt: skip


def starting_point(request: DocumentRequest) -> Document:
    """The document to fill in: what an earlier run has left of it, if it is that and holds both languages."""
    document = open_document(request.source, request.languages)
    if not document.bilingual or request.anew or not request.out.is_file():
        return document
    if request.out.suffix.lower() != request.source.suffix.lower() or request.out.samefile(request.source):
        return document
    earlier = open_document(request.out, request.languages)
    same = [one.source for one in earlier.segments()] == [one.source for one in document.segments()]
    earlier.path = request.source
    return earlier if same else document


def reads_as_target(segments: Sequence[Segment], languages: tuple[str, str] | None) -> bool:
    """Whether a document is in the language it is to be translated into, by its small words."""
    return languages is not None and guess_language(one.source for one in segments) == languages[1].split("-")[0]
