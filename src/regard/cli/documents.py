"""`regard translate MODEL FILE --out FILE` for documents: PO, XLIFF, TMX, subtitles, HTML, Markdown, Word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from regard.errors import InputError, some

if TYPE_CHECKING:
    from regard.drawing.review_page import ReviewRow
    from regard.tasks.document_translation import DocumentReport, SegmentReport
    from regard.tasks.translator import SearchOptions, Translator
    from regard.text.scores.alignment_error import Link

PLAIN = ".txt"  # lines, which go chunk by chunk like those of any other file, unless they are to be reviewed
FEW = 3  # doubtful segments that are named
DOUBTFUL = 0.5


class DocumentOptions(NamedTuple):
    """How documents are translated, beside what is translated."""

    device: str
    numbers: str  # in which the engine computes
    engine: str
    batch: int | None
    glossary: Path | None
    review: Path | None
    anew: bool
    lines_only: bool  # whether something was asked for that only lines can have


def are_documents(files: list[Path], review: Path | None) -> bool:
    """Whether any of these files has segments that are more than its lines, or all are to be reviewed."""
    from regard.documents import FORMATS

    suffixes = {file.suffix.lower() for file in files}
    return review is not None or bool(suffixes & (FORMATS.keys() - {PLAIN}))


def translate_documents(
    model: str, files: list[Path], out: Path | None, search: SearchOptions, how: DocumentOptions
) -> None:
    """Fill in what is open in each file, and say what was done."""
    if out is None or not files:
        raise InputError(
            "translating documents needs their names and a place for the translations",
            found=" ".join(map(str, files)) or "no file",
            do="regard translate MODEL FILE --out FILE",
        )
    if how.lines_only:
        raise InputError(
            "documents are translated whole, by one worker, and stay what they are",
            found="--json, --alignments, --plain, --workers, --cluster or --chunk",
            do="leave it out; --review shows alignments",
        )
    if how.review is not None and len(files) > 1:
        raise InputError("a review is of one file", found=f"{len(files)} files", do="translate them one by one")
    if how.review is not None and how.engine != "torch":
        raise InputError(
            f"the engine {how.engine} shows no attention, of which a review is made",
            found=f"--review {how.review}", do="--engine torch, or leave --review out",
        )  # fmt: skip
    from regard.cli.loading import load_for
    from regard.cli.waiting import ProgressBar
    from regard.interop.folders import languages_of, locate
    from regard.tasks import Translator
    from regard.tasks.bulk.manifest import output_paths
    from regard.tasks.document_translation import DocumentRequest, translate_document
    from regard.tasks.glossary import Glossary
    from regard.tasks.pipeline import TranslationPipeline

    outputs = output_paths(files, out)
    glossary = None if how.glossary is None else Glossary.read(how.glossary)
    languages = languages_of(locate(model))
    task = load_for(model, how.device, how.engine, how.numbers)
    task.batch = how.batch
    pipeline = TranslationPipeline(task, glossary)
    for file, output in zip(files, outputs, strict=True):
        request = DocumentRequest(file, output, languages, how.anew)
        with ProgressBar(f"translating {file.name}") as bar:
            report = translate_document(request, pipeline, lambda progress: bar(*progress), **search)
        tell(output, report)
        if how.review is not None:
            assert isinstance(task, Translator)  # the engine that shows attention
            write_review(how.review, file, report, languages, links_of(task, model, report))


def tell(output: Path, report: DocumentReport) -> None:
    """One line of what was done, and one for each thing that a person should look at."""
    counts = [f"{report.filled:,} of {report.segments:,} segments filled in", f"{report.unchanged:,} kept"]
    counts += [f"{report.fallbacks:,} translated between their tags"] if report.fallbacks else []
    typer.echo(f"wrote {output}: {', '.join(counts)}", err=True)
    if report.in_target_language:
        typer.echo("note: it reads as a translation already, so nothing was done", err=True)
    doubtful = [row for row in report.doubts if row.doubt >= DOUBTFUL]
    if doubtful:
        few = "; ".join(f"{row.place} ({row.doubt:.2f})" for row in doubtful[:FEW])
        more = f" and {len(doubtful) - FEW:,} more" if len(doubtful) > FEW else ""
        typer.echo(f"most doubtful: {few}{more}", err=True)
    if report.unused_terms:
        typer.echo(f"terms not used everywhere: {some(list(report.unused_terms))}", err=True)
    if report.cut:
        typer.echo(f"{report.cut:,} reached the most tokens allowed: allow more with --max-length", err=True)


def write_review(
    path: Path, file: Path, report: DocumentReport, languages: tuple[str, str] | None, links: dict[int, list[Link]]
) -> None:
    from regard.cli.verb import write
    from regard.drawing.review_page import review_page

    rows = [review_row(row, links.get(number, [])) for number, row in enumerate(report.rows)]
    write(review_page(file.name, rows, languages), str(path))


def review_row(row: SegmentReport, links: list[Link]) -> ReviewRow:
    from regard.drawing.review_page import ReviewRow

    notes = [f"not as the glossary has it: {term}" for term in row.unused_terms]
    notes += ["translated between its tags"] if row.fallback else []
    notes += ["cut at the most tokens allowed"] if row.cut else []
    words = shown_words(row.source), shown_words(row.target or "")
    doubt = row.doubt if row.filled else None
    return ReviewRow(row.place, row.source, row.target, doubt, tuple(notes), words, links)


def links_of(task: Translator, model: str, report: DocumentReport) -> dict[int, list[Link]]:
    """Which word became which, by the number of the segment, for what was translated just now."""
    from regard.interop.folders import locate
    from regard.lens.alignment.pairs import fits
    from regard.lens.alignment.stored_choice import read_choice
    from regard.lens.alignment.translation import chosen, read

    pairs = {
        number: (" ".join(shown_words(row.source)), " ".join(shown_words(row.target)))
        for number, row in enumerate(report.rows)
        if row.filled and row.target
    }
    pairs = {number: pair for number, pair in pairs.items() if all(pair) and fits(task, *pair)}
    known = list(dict.fromkeys(pairs.values()))
    choice = read_choice(locate(model), task.model) or chosen(task, known, str.split)
    links = read(task, known, str.split, choice.reading) if choice is not None else {}
    return {number: links.get(pair, []) for number, pair in pairs.items()}


def shown_words(text: str) -> list[str]:
    """The words of a segment without its tags, between white space."""
    from regard.documents.guard import TAG

    return TAG.sub("", text).split()
