"""`regard check`: find the wrong numbers in an example worked by hand."""

from __future__ import annotations

from pathlib import Path

import typer

from regard.cli.verb import show, write


def check(
    file: Path | None = typer.Argument(None, metavar="FILE", help="The example, as TOML (or JSON)."),
    example: str | None = typer.Option(None, metavar="NAME", help="Check a worked example that comes with regard."),
    json: bool = typer.Option(False, "--json", help="The report as JSON."),
) -> None:
    """Recompute an example worked by hand and point at every wrong number.

    Ends with status 0 when every number is right, 1 when there are mistakes, 2 when the file cannot be read.
    """
    import json as notation

    from regard.worked import check as check_numbers

    report = check_numbers(file, example=example)
    if json:
        write(notation.dumps(report.to_dict(), ensure_ascii=False, indent=2), "-")
    else:
        from regard.worked.report_terminal import report_view

        show(report_view(report))
    raise typer.Exit(0 if report.ok else 1)
