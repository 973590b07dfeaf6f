"""`regard info`: what a folder holds."""

from __future__ import annotations

from typing import Any

import typer

from regard.cli.verb import write


def info(
    model: str = typer.Argument(..., metavar="FOLDER", help="A model: a folder, or a name on the hub."),
    json: bool = typer.Option(False, "--json", help="The same as JSON."),
) -> None:
    """Say what a model is: family, sizes, parameters, tokenizer, and where it comes from."""
    import json as notation

    from regard.tasks.describe import describe

    found = describe(model)
    if json:
        write(notation.dumps(found, ensure_ascii=False, indent=2), "-")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in found.items():
        table.add_row(name, as_words(value))
    Console().print(table, highlight=False, markup=False)


def as_words(value: Any) -> str:
    """Numbers with separators, yes and no, lists with commas."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {as_words(part)}" for key, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return " / ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
