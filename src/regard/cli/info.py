"""`regard info`: what a folder holds."""

from __future__ import annotations

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
        if isinstance(value, dict):
            value = ", ".join(f"{key} {part}" for key, part in value.items())
        table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    Console().print(table, highlight=False, markup=False)
