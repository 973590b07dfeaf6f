"""`regard translate MODEL FILE... --out`: large files chunk by chunk, by one worker or many."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import typer

from regard.cli.translation_lines import as_json, as_line, cut_words
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.tasks.bulk.translate_files import BulkOutcome, BulkProgress, Engine
    from regard.tasks.pipeline import Best
    from regard.tasks.translator import SearchOptions

EVERY = 10.0  # seconds between two lines where nobody watches


class BulkOptions(NamedTuple):
    """How a job is done, beside what it is."""

    output: str  # text or json
    device: str
    dtype: str
    batch: int | None
    workers: int
    cluster: str | None
    chunk: int | None
    anew: bool
    plain: bool
    glossary: Path | None


def translate_to(model: str, files: list[Path], out: Path | None, search: SearchOptions, how: BulkOptions) -> None:
    """Translate files, and say how far it is and where the translations are."""
    if out is None or not files:
        raise InputError(
            "translating files needs their names and a place for the translations",
            found=" ".join(map(str, files)) if files else f"--out {out}",
            do="regard translate MODEL FILE --out FILE; or without either, from standard input to standard output",
        )
    if how.output == "alignments":
        raise InputError("alignments are read while translating standard input", do="leave out --out, or --alignments")
    from regard.interop.folders import where
    from regard.tasks.bulk.translate_files import BulkRequest, translate_files
    from regard.tasks.glossary import Glossary

    if note := where(model).note:
        typer.echo(f"note: {note}", err=True)
    request = BulkRequest(
        model, files, out, search, json_line if how.output == "json" else text_line, how.output, how.device, how.dtype,
        how.batch, how.chunk, how.anew, not how.plain, None if how.glossary is None else Glossary.read(how.glossary),
    )  # fmt: skip
    try:
        with BulkBar() as bar, redirect_stdout(sys.stderr):  # Ray prints where a worker died; that is no translation
            outcome = translate_files(request, engine_for(how), bar)
    except KeyboardInterrupt:
        typer.echo("regard: stopped; the same command goes on with what is left", err=True)
        raise typer.Exit(130) from None
    report(outcome)


def engine_for(how: BulkOptions) -> Engine:
    if how.workers == 1 and how.cluster is None:
        from regard.tasks.bulk.translate_files import translate_here

        return translate_here
    from regard.tasks.bulk.ray_engine import import_ray, translate_with_ray

    import_ray()  # that it is missing is said before anything is read
    return partial(translate_with_ray, workers=how.workers, cluster=how.cluster)


def text_line(source: str, best: Best) -> str:
    return as_line(best)


def json_line(source: str, best: Best) -> str:
    return as_json(source, best)


def report(outcome: BulkOutcome) -> None:
    if outcome.finished_before:
        typer.echo(f"{', '.join(outcome.outputs)}: finished before, {outcome.lines:,} lines", err=True)
        return
    earlier = f", {outcome.before:,} of them by an earlier run" if outcome.before else ""
    typer.echo(f"wrote {', '.join(outcome.outputs)}: {outcome.lines:,} lines{earlier}", err=True)
    if outcome.cut:
        typer.echo(cut_words(outcome.cut), err=True)


class BulkBar:
    """Chunks, lines, speed and time left, on standard error: a bar if someone watches, else a line now and then."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock, self.printed = clock, clock()

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (BarColumn(), TextColumn("{task.description}"))
        self.bar = Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False)
        self.line: Any = self.bar.add_task("starting", total=None)
        self.watched = self.bar.console.is_terminal
        if self.watched:
            self.bar.start()
        return self

    def __call__(self, progress: BulkProgress) -> None:
        words = progress_words(progress)
        self.bar.update(self.line, completed=progress.lines, total=progress.all_lines, description=words)
        if not self.watched and self.clock() - self.printed >= EVERY:
            self.printed = self.clock()
            typer.echo(words, err=True)

    def __exit__(self, *error: object) -> None:
        if self.watched:
            self.bar.stop()


def progress_words(progress: BulkProgress) -> str:
    """12 of 30 chunks, 1,200 of 3,000 lines, 85 lines/s, 0:21 left."""
    words = [
        f"{progress.chunks:,} of {progress.all_chunks:,} chunks",
        f"{progress.lines:,} of {progress.all_lines:,} lines",
    ]
    if progress.left is not None:
        minutes, seconds = divmod(round(progress.left), 60)
        hours, minutes = divmod(minutes, 60)
        left = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        words += [f"{progress.lines_per_second:,.1f} lines/s", f"{left} left"]
    return ", ".join(words)
