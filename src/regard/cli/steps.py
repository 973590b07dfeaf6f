"""`regard steps`: the six steps with numbers."""

from __future__ import annotations

from pathlib import Path

import typer

from regard.cli.verb import show, write
from regard.errors import InputError


def steps(
    text: str | None = typer.Argument(None, metavar="TEXT", help='The words, such as "I love AI".'),
    example: str | None = typer.Option(None, metavar="NAME", help="A worked example that comes with regard."),
    source: Path | None = typer.Option(None, "--input", metavar="FILE", help="Your own numbers, as TOML or JSON."),
    query: str | None = typer.Option(
        None, metavar="WORD", help='Whose row to work out: a word, "the:2" for its second "the", or a number from 0.'
    ),
    heads: int | None = typer.Option(None, help="How many heads look at once (1 unless the file says more)."),
    causal: bool | None = typer.Option(None, "--causal/--no-causal", help="Hide every later word.", show_default=False),
    scale: str | None = typer.Option(
        None, metavar="NUMBER|none|sqrt(d)", help="What scores are multiplied by; sqrt(d) divides by it, as is usual."
    ),
    positions: bool | None = typer.Option(
        None, "--positions/--no-positions", help="Add sinusoidal codes of the positions to X.", show_default=False
    ),
    temperature: float | None = typer.Option(None, help="Divide scaled scores by this before the softmax."),
    d: int | None = typer.Option(None, help="Numbers a word, when they are made up (4 unless given)."),
    seed: int = typer.Option(0, help="Which numbers to make up."),
    json: bool = typer.Option(False, "--json", help="Every number as JSON."),
    latex: str | None = typer.Option(None, metavar="[FILE.tex]", help="LaTeX, to a file or to standard output."),
    html: str | None = typer.Option(None, metavar="[FILE.html]", help="A page that needs no network, likewise."),
) -> None:
    """Show the six steps of attention with every number.

    The numbers are made up (always the same for the same words and seed), or come from a file or a worked example.
    Those that are made up are called so. A sheet holds at most 100,000 numbers: a d of about 128.
    """
    from regard.worked import sheet as worked

    if text is None and example is None and source is None:
        from regard.worked.examples import names

        raise InputError(
            "there are no words to work with",
            do=f'regard steps "I love AI", or regard steps --example NAME with one of {", ".join(names())}',
        )
    sheet = worked.steps(
        text, example=example, file=source, d=d, heads=heads, causal=causal, scale=scale, positions=positions,
        temperature=temperature, seed=seed,
    )  # fmt: skip
    row = sheet.row(0 if query is None else query)
    if query is not None and (times := len(sheet.rows(query))) > 1:
        note = f'note: "{query}" stands there {times} times, and this is the first; for the second: --query {query}:2'
        typer.echo(note, err=True)
    if [json, latex == "-", html == "-"].count(True) > 1:
        raise InputError(
            "only one form at a time can go to standard output",
            found="--json, --latex or --html together",
            do="name a file for the others: --html page.html",
        )
    if json:
        write(sheet.to_json(), "-")
    if latex is not None:
        write(sheet.to_latex(row), latex)
    if html is not None:
        write(sheet.to_html(row), html)
    if not json and latex is None and html is None:
        from regard.worked.sheet_terminal import sheet_view

        show(sheet_view(sheet, row))
