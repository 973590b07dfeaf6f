"""`regard look`: where the heads of a model look, in the terminal and in files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import typer

from regard.cli.look_shown import all_keys, shown
from regard.cli.recordings import MODEL, chosen, extent, recorded
from regard.cli.verb import STANDARD, show, write
from regard.errors import InputError

if TYPE_CHECKING:
    from regard.lens.draw.heat import View
    from regard.lens.recording.forward import ForwardCall
    from regard.lens.recording.map import By
    from regard.lens.recording.tokens import Row
    from regard.lens.recording_api import Recording

ALL = "all"
WEIGHT: By = "weight"
VALUE: By = "value"
OUTPUT: Row = "output"
INPUT: Row = "input"


def look(
    model: str = typer.Argument(..., metavar="MODEL", help=MODEL),
    text: str | None = typer.Argument(None, metavar="TEXT", help="What it reads; - for standard input."),
    target: str | None = typer.Option(None, help="What the decoder reads (what the model says itself)."),
    site: str | None = typer.Option(
        None, help="Which attention: a name, a part of one, a pattern, encoder, decoder, self, cross, or all."
    ),
    head: str | None = typer.Option(None, help="Which head, from 0, or all."),
    token: str | None = typer.Option(None, help="Only this token's top keys: a word, or its row's number from 0."),
    top: int | None = typer.Option(None, min=1, help="Show so many top keys of every token, with exact weights."),
    row: str = typer.Option(
        OUTPUT, metavar="output|input", help="A decoder's row: of the token that it writes, or of the one it has read."
    ),
    rows: str | None = typer.Option(None, metavar="FROM:TO", help="Only these rows, such as 20:50."),
    columns: str | None = typer.Option(None, metavar="FROM:TO", help="Only these tokens that are looked at."),
    by: str = typer.Option(
        WEIGHT,
        metavar="weight|value",
        help="Each weight alone, or times the norm of the value that it brings, |v W_O|.",
    ),
    call: int | None = typer.Option(None, help="Which call of a recording, from 0 (the last)."),
    html: str | None = typer.Option(None, metavar="[FILE.html]", help="A page with all heads that needs no network."),
    svg: str | None = typer.Option(None, metavar="[FILE.svg]", help="The map as a picture."),
    png: str | None = typer.Option(None, metavar="[FILE.png]", help="The same."),
    csv: str | None = typer.Option(None, metavar="[FILE.csv]", help="The weights of the head as a table."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Show where a head looks: a heat map, and the top keys of each token.

    MODEL is a folder of ours, any Hugging Face model of text (a folder or a name on the hub), or a recording. A
    translator is shown with what it says itself, unless --target is given. Without --site and --head the head whose
    rows differ most is shown, and it is said which; where --site means several, each of them.

    A decoder reads a token and writes the next. Its row is shown as that of the token it writes: --token il says where
    the model looked to write il. With --row input it is that of the token it has read.
    """
    files = {"html": html, "svg": svg, "png": png, "csv": csv}
    which, measure = row_named(row), measure_named(by)
    check_files(files, keys=token is not None or top is not None)
    recording = chosen(recorded(model, text, target, device), call)
    down, across = extent("--rows", rows), extent("--columns", columns)
    aims = aimed(recording.last, site, head).items()
    views = {replace(view, row=which, rows=down, columns=across, by=measure): why for view, why in aims}
    if not any(files.values()):
        show(shown(recording.last, views, token, top))
        return
    keys = None if token is None and top is None else all_keys(recording.last, list(views), token, top)
    for kind, file in files.items():
        if file is not None:
            to_file(recording, list(views), kind, file)
    if keys is not None:
        show(keys)


def row_named(name: str) -> Row:
    if name in (OUTPUT, INPUT):
        return OUTPUT if name == OUTPUT else INPUT
    raise InputError(
        "a decoder's row belongs to two tokens", found=f"--row {name}",
        do="--row output for the token it writes, --row input for the one it has read; some rows only: --rows 20:50",
    )  # fmt: skip


def measure_named(name: str) -> By:
    if name in (WEIGHT, VALUE):
        return WEIGHT if name == WEIGHT else VALUE
    raise InputError(
        "a map shows weights, or what they bring", found=f"--by {name}",
        do="--by weight for the weights, --by value for each weight times the norm of its value",
    )  # fmt: skip


def check_files(files: dict[str, str | None], *, keys: bool) -> None:
    forms = [f"--{kind}" for kind, file in files.items() if file == STANDARD]
    if len(forms) > 1 or (forms and keys):
        raise InputError(
            "only one form at a time can go to standard output",
            found=", ".join(forms) + (", and the top keys" if keys else ""),
            do="name a file for the others: --svg map.svg",
        )
    if files["png"] == STANDARD and sys.stdout.isatty():
        raise InputError("a PNG is no text for a terminal", do="name a file: --png map.png")


def aimed(call: ForwardCall, site: str | None, head: str | None) -> dict[View, str]:
    """What to show, and of each part why it where that was not asked for."""
    from regard.lens.draw.default_view import choose, find_sites
    from regard.lens.draw.heat import View

    number = None if head in (None, ALL) else head_number(str(head))
    if site == ALL:
        return {View(None, number): ""}
    sites: list[str | None] = [None] if site is None else [*find_sites(call, site)]
    if head == ALL:
        return {View(name or choose(call).site): "" for name in sites}
    if len(sites) > 1 and number is not None:
        sites = [name for name in sites if number in call.map(str(name)).heads] or sites
    choices = [choose(call, name if len(sites) > 1 else site, number) for name in sites]
    return {View(choice.site, choice.head): choice.why for choice in choices}


def head_number(text: str) -> int:
    if not text.isdecimal():
        raise InputError("a head is a number, from 0", found=f"--head {text}", do="--head 3, or --head all")
    return int(text)


def to_file(recording: Recording, views: list[View], kind: str, file: str) -> None:
    """One form, to a file or to standard output."""
    from regard.lens.draw.heat_picture import picture

    first = views[0]
    if kind == "html":
        from regard.lens.draw.page import page

        if first.rows is not None or first.columns is not None:
            typer.echo("note: a page holds whole maps, so --rows and --columns do not change it", err=True)
        head = None if first.site is None else first.head
        write(page(recording.last, site=first.site, head=head, row=first.row, by=first.by), file)
    elif kind == "svg":
        from regard.drawing.heat_svg import svg

        write(svg(picture(recording.last, *views)), file)
    elif kind == "png":
        from regard.drawing.heat_png import write_png

        write_png(picture(recording.last, *views), sys.stdout.buffer if file == STANDARD else file)
        report_written(file)
    else:
        from regard.drawing.writing import write_csv

        write_csv(sys.stdout if file == STANDARD else file, tables(recording.last, views))
        report_written(file)


def tables(call: ForwardCall, views: list[View]) -> Iterator[list[object]]:
    """A table for each head, with an empty line between them."""
    from regard.lens.recording_api import table

    if any(view.site is None or view.head is None for view in views):
        raise InputError("a table holds one head", found="all of them", do="choose --site and --head")
    return chain.from_iterable(chain([[]] if number else [], table(call, view)) for number, view in enumerate(views))


def report_written(file: str) -> None:
    if file != STANDARD:
        typer.echo(f"wrote {file}", err=True)
