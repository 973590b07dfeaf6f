"""`regard heads`: what kind of head each is, over many texts."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.lines import read_lines
from regard.cli.recordings import MODEL, STANDARD, is_recording, opened, read_file
from regard.cli.verb import show
from regard.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from rich.table import Table

    from regard.lens.heads import Head, Heads

COLUMNS = {
    "entropy": "entropy", "top_weight": "top weight", "distance": "distance", "first": "first token", "own": "itself",
    "previous": "previous", "induction": "induction",
}  # fmt: skip
STRONG = 0.6  # of the largest in a column, from which on a number is tinted
ORANGE = 0.64  # where the scale of colours comes to orange
ABOUT = (
    "Means over every row: entropy in nats, the largest weight, distance in tokens, and the weight on the first token, "
    "on the token itself, on the one before it, and on what followed earlier occurrences of it (induction). "
    "– where that has no meaning."
)


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

    show(Group(Text(about, style="bold"), view(table, sort), Text(""), Text(ABOUT, style="dim")))


def counted(model: str, texts: str | None, limit: int | None, device: str) -> tuple[Heads, str]:
    """The table, and what it is made from."""
    from regard.cli.waiting import Progress
    from regard.lens.recording import Recording
    from regard.lens.survey import read_lines as as_texts
    from regard.lens.survey import survey

    if is_recording(model):
        if texts is not None:
            raise InputError("a recording holds its texts already", found=f"--texts {texts}", do="leave it out")
        seen = Recording.load(model)
        return seen.heads(), f"{model}: {len(seen.calls)} call{'s' * (len(seen.calls) != 1)}"
    if texts is None:
        raise InputError("there are no texts to read", do=f"regard heads {model} --texts FILE, one text a line")
    subject = opened(model, device)
    lines = as_texts(iter(file_lines(texts)), pair=subject.pair)[:limit]
    with Progress("reading") as told:
        found = survey(subject, lines, told)
    if found.too_long:
        places = ", ".join(map(str, found.too_long[:8])) + (" …" if len(found.too_long) > 8 else "")
        typer.echo(f"note: left out as longer than the model can read: line {places}", err=True)
    return found.heads, f"{model}: {found.texts:,} text{'s' * (found.texts != 1)}"


def file_lines(name: str) -> Iterator[str]:
    if name == STANDARD:
        yield from read_lines()
        return
    for line in read_file(Path(name)).split("\n"):
        yield line.removesuffix("\r")


def view(table: Heads, sort: str | None) -> Table:
    """A line a head, sites together; of each column the strongest are tinted."""
    from rich.table import Table
    from rich.text import Text

    from regard.lens.draw.heat_terminal import style

    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    made.add_column("site", overflow="fold", min_width=12)  # a long name is folded; the numbers stay whole
    for name in ("head", *COLUMNS.values()):
        made.add_column(name, justify="right", no_wrap=True)
    lines, most = ordered(table.lines, sort), {name: largest(table.lines, name) for name in COLUMNS}
    before = ""
    for line in lines:
        cells = []
        for name in COLUMNS:
            number = getattr(line, name)
            share = 0.0 if math.isnan(number) or not most[name] else number / most[name]
            tint = (share - STRONG) / (1 - STRONG)
            cells.append(Text(figure(name, number), style=style(ORANGE * tint) if tint > 0 else ""))
        if sort is None and before and line.site != before:
            made.add_row()
        made.add_row("" if sort is None and line.site == before else line.site, str(line.head), *cells)
        before = line.site
    return made


def ordered(lines: list[Head], sort: str | None) -> list[Head]:
    """As they were called, or the largest first; what has no number comes last."""
    if sort is None:
        return lines
    return sorted(lines, key=lambda line: (math.isnan(getattr(line, sort)), -getattr(line, sort)))


def largest(lines: list[Head], name: str) -> float:
    return max((number for line in lines if not math.isnan(number := getattr(line, name))), default=0.0)


def figure(name: str, number: float) -> str:
    if math.isnan(number):
        return "–"
    return f"{number:.1f}" if name == "distance" else f"{number:.3f}"
