"""`regard heads`: what kind of head each is, over many texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.lines import read_lines
from regard.cli.recordings import MODEL, STANDARD, is_recording, open_model, read_file
from regard.cli.verb import show
from regard.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from regard.lens.head_kinds import Heads


def heads(
    model: str = typer.Argument(..., metavar="MODEL", help=MODEL),
    texts: str | None = typer.Option(None, metavar="FILE", help="One text a line (source, tab, target); - for stdin."),
    sort: str | None = typer.Option(None, metavar="COLUMN", help="Largest first, by this column, such as entropy."),
    limit: int | None = typer.Option(None, min=1, help="Only the first so many texts."),
    csv: str | None = typer.Option(None, metavar="[FILE.csv]", help="The table with every digit."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Say what each head does, averaged over many texts.

    An encoder-decoder reads pairs, or where a line has no target what it says itself, greedily. Memory does not grow
    with the number of texts. MODEL may be a recording; then its own texts are counted.
    """
    from regard.lens.draw.heads_table import COLUMNS, heads_view

    if sort is not None and sort not in COLUMNS:
        raise UnknownNameError("column", sort, COLUMNS)
    table, about = counted(model, texts, limit, device)
    if csv is not None:
        table.to_csv(sys.stdout if csv == STANDARD else csv)
        if csv != STANDARD:
            typer.echo(f"wrote {csv}", err=True)
        return
    from rich.console import Group
    from rich.text import Text

    show(Group(Text(about, style="bold"), heads_view(table.lines, sort)))


def counted(model: str, texts: str | None, limit: int | None, device: str) -> tuple[Heads, str]:
    """The table, and what it is made from."""
    from regard.cli.waiting import ProgressBar
    from regard.lens.analysis.survey import read_lines as as_texts
    from regard.lens.analysis.survey import survey
    from regard.lens.recording_api import Recording

    if is_recording(model):
        if texts is not None:
            raise InputError("a recording holds its texts already", found=f"--texts {texts}", do="leave it out")
        recording = Recording.load(model)
        return recording.heads(), f"{model}: {len(recording.calls)} call{'s' * (len(recording.calls) != 1)}"
    if texts is None:
        raise InputError("there are no texts to read", do=f"regard heads {model} --texts FILE, one text a line")
    subject = open_model(model, device)
    lines = as_texts(iter(file_lines(texts)), pair=subject.pair)[:limit]
    with ProgressBar("reading") as on_progress:
        result = survey(subject, lines, on_progress)
    if result.too_long:
        numbers = ", ".join(map(str, result.too_long[:8])) + (" …" if len(result.too_long) > 8 else "")
        typer.echo(f"note: left out as longer than the model can read: line {numbers}", err=True)
    return result.heads, f"{model}: {result.texts:,} text{'s' * (result.texts != 1)}"


def file_lines(name: str) -> Iterator[str]:
    if name == STANDARD:
        yield from read_lines()
        return
    for line in read_file(Path(name)).split("\n"):
        yield line.removesuffix("\r")
