"""`regard info`: what a folder or a recording holds."""

from __future__ import annotations

from typing import Any

import typer

from regard.cli.recordings import MODEL, is_recording
from regard.cli.verb import size, write


def info(
    model: str = typer.Argument(..., metavar="MODEL", help=MODEL),
    json: bool = typer.Option(False, "--json", help="The same as JSON."),
) -> None:
    """Say what a model is: family, sizes, parameters, tokenizer, and where it comes from; or what a recording holds."""
    import json as notation

    facts = described(model)
    if json:
        write(notation.dumps(facts, ensure_ascii=False, indent=2), "-")
        return
    from rich.console import Console
    from rich.table import Table

    card = facts.pop("card", None)
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        table.add_row(name, size(value) if name in ("size", "weights") else as_words(value))
    Console().print(table, highlight=False, markup=False)
    if card:
        typer.echo(f"\n{card.rstrip()}")


def described(name: str) -> dict[str, Any]:
    if is_recording(name):
        from regard.lens.analysis.recording_summary import describe_recording

        return describe_recording(name)
    from regard.tasks.describe import describe

    return describe(name)


def as_words(value: Any) -> str:
    """Numbers with separators, yes and no, lists with commas."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {as_words(part)}" for key, part in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return " / ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
