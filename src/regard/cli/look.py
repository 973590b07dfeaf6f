"""`regard look`: where the heads of a model look, in the terminal and in files."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from regard.cli.recordings import MODEL, chosen, extent, recorded
from regard.cli.verb import STANDARD, show, write
from regard.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.lens.call import Call
    from regard.lens.draw.heat import Part, View
    from regard.lens.recording import Recording

ALL = "all"
LISTED = 8  # other sites that are named
TOP = 5  # keys of a token


def look(
    model: str = typer.Argument(..., metavar="MODEL", help=MODEL),
    text: str | None = typer.Argument(None, metavar="TEXT", help="What it reads; - for standard input."),
    target: str | None = typer.Option(None, help="What the decoder reads (what the model says itself)."),
    site: str | None = typer.Option(None, help="Which attention: a name, a part of one, a pattern, or all."),
    head: str | None = typer.Option(None, help="Which head, from 0, or all."),
    token: str | None = typer.Option(None, help="Only this token's top keys: a word, or its number from 0."),
    top: int | None = typer.Option(None, min=1, help="Show so many top keys of every token, with exact weights."),
    rows: str | None = typer.Option(None, metavar="FROM:TO", help="Only these tokens that look, such as 20:50."),
    columns: str | None = typer.Option(None, metavar="FROM:TO", help="Only these tokens that are looked at."),
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
    rows differ most is shown, and it is said which.
    """
    files = {"html": html, "svg": svg, "png": png, "csv": csv}
    check_files(files)
    seen = chosen(recorded(model, text, target, device), call)
    view, why = aimed(seen.last, site, head)
    view = replace(view, rows=extent("--rows", rows), columns=extent("--columns", columns))
    for kind, file in files.items():
        if file is not None:
            to_file(seen, view, kind, file)
    if not any(files.values()):
        show(shown(seen.last, view, why, token, top))


def check_files(files: dict[str, str | None]) -> None:
    told = [f"--{kind}" for kind, file in files.items() if file == STANDARD]
    if len(told) > 1:
        raise InputError(
            "only one form at a time can go to standard output",
            found=", ".join(told), do="name a file for the others: --svg map.svg",
        )  # fmt: skip
    if files["png"] == STANDARD and sys.stdout.isatty():
        raise InputError("a PNG is no text for a terminal", do="name a file: --png map.png")


def aimed(call: Call, site: str | None, head: str | None) -> tuple[View, str]:
    """What to show, and why it where that was not asked for."""
    from regard.lens.choice import choose, find_sites
    from regard.lens.draw.heat import View

    number = None if head in (None, ALL) else head_number(str(head))
    if site == ALL:
        return View(None, number), ""
    if head == ALL:
        found = find_sites(call, site) if site is not None else [choose(call).site]
        if len(found) > 1:
            raise InputError(
                f"{site!r} is the name of {len(found)} sites", found=", ".join(found), do="give one of them, or all"
            )
        return View(found[0]), ""
    choice = choose(call, site, number)
    return View(choice.site, choice.head), choice.why


def head_number(told: str) -> int:
    if not told.isdecimal():
        raise InputError("a head is a number, from 0", found=f"--head {told}", do="--head 3, or --head all")
    return int(told)


def to_file(seen: Recording, view: View, kind: str, file: str) -> None:
    """One form, to a file or to standard output."""
    part: Part = {"rows": view.rows, "columns": view.columns, "batch": view.batch}
    if kind == "html":
        from regard.lens.draw.page import page

        if view.rows is not None or view.columns is not None:
            typer.echo("note: a page holds whole maps, so --rows and --columns do not change it", err=True)
        write(page(seen, site=view.site, head=None if view.site is None else view.head), file)
    elif kind == "svg":
        write(seen.to_svg(None, view.site, view.head, **part), file)
    elif kind == "png":
        from regard.lens.draw.heat_picture import picture
        from regard.lens.draw.heat_png import write_png

        write_png(picture(seen.last, view), sys.stdout.buffer if file == STANDARD else file)
        said(file)
    else:
        if view.site is None or view.head is None:
            raise InputError("a table holds one head", found="all of them", do="choose --site and --head")
        from regard.lens.heads import write_csv
        from regard.lens.recording import table

        write_csv(sys.stdout if file == STANDARD else file, table(seen.last, view.site, view.head, **part))
        said(file)


def said(file: str) -> None:
    if file != STANDARD:
        typer.echo(f"wrote {file}", err=True)


def shown(call: Call, view: View, why: str, token: str | None, top: int | None) -> RenderableType:
    """The map with what else there is, and the top keys where they are asked for."""
    from rich.console import Group
    from rich.text import Text

    from regard.lens.draw.heat_small import SmallMaps
    from regard.lens.draw.heat_terminal import HeatView

    if view.site is None or view.head is None:
        if token is not None or top is not None:
            raise InputError("top keys are of one head", found="all of them", do="choose --site and --head")
        return SmallMaps(call, call.sites if view.site is None else [view.site], view)
    parts: list[RenderableType] = [HeatView(call, view)]
    if token is not None or top is not None:
        parts += [Text(""), keys_view(call, view, token, TOP if top is None else top)]
    parts += [Text(""), Text(elsewhere(call, view, why), style="dim")]
    return Group(*parts)


def keys_view(call: Call, view: View, token: str | None, count: int) -> RenderableType:
    from regard.attention.tiles import Axis
    from regard.lens.choice import find_token
    from regard.lens.draw.heat_labels import label
    from regard.lens.draw.heat_terminal import top_view

    assert view.site is not None
    names = [label(one) for one in call.labels(view.site)[0]]
    rows = Axis.read("rows", view.rows, len(names), 1)
    return top_view(call, view, range(rows.start, rows.stop) if token is None else find_token(names, token), count)


def elsewhere(call: Call, view: View, why: str) -> str:
    """Why this head, and where to look next."""
    from regard.models.checkpoint import some

    assert view.site is not None
    others = [site for site in call.sites if site != view.site]
    heads = call.map(view.site).heads
    lines = [f"chosen  {why}"] if why else []
    lines += [f"heads   {some([str(head) for head in heads], 16)}: --head N, or all"] if len(heads) > 1 else []
    lines += [f"sites   {some(others, LISTED)}: --site NAME, or all"] if others else []
    return "\n".join(lines)
