"""How every verb reads its arguments and ends: errors in one voice, outputs with or without a file name."""

from __future__ import annotations

import sys
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from regard.errors import FileError, RegardError

if TYPE_CHECKING:
    from rich.console import RenderableType

STANDARD = "-"  # the file name that means standard output
ENDINGS = {
    "--html": (".html", ".htm"), "--latex": (".tex",), "--svg": (".svg",), "--png": (".png",),
    "--csv": (".csv", ".tsv"),
}  # fmt: skip


class VerbCommand(TyperCommand):
    """A command whose mistakes end with status 2 and a sentence, never a traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let `--html` and its like stand without a file name: then they write to standard output."""
        return super().parse_args(ctx, with_standard_output(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except RegardError as error:
            typer.echo(f"regard: {error}", err=True)
            raise typer.Exit(2) from error
        except BrokenPipeError:
            sys.stderr.close()  # the reader, such as `head`, has gone: nobody is left to tell
            raise typer.Exit(1) from None
        except OSError as error:  # such as a full disk behind standard output
            refused = FileError("the system refused", found=str(error), do="make room, or choose another place")
            typer.echo(f"regard: {refused}", err=True)
            raise typer.Exit(2) from error


def flowing(text: str | None) -> str:
    """A docstring's paragraphs without its line breaks, so that a terminal of any width sets them anew."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in cleandoc(text or "").split("\n\n"))


def with_standard_output(args: list[str]) -> list[str]:
    """Put "-" behind each option of `ENDINGS` that no file name of its kind follows."""
    full: list[str] = []
    for place, arg in enumerate(args):
        full.append(arg)
        following = args[place + 1] if place + 1 < len(args) else ""
        if arg in ENDINGS and following != STANDARD and not following.lower().endswith(ENDINGS[arg]):
            full.append(STANDARD)
    return full


def show(view: RenderableType) -> None:
    """To a terminal with its colours and width; anywhere else as plain text of a fixed width."""
    from rich.console import Console

    from regard.drawing.plain import as_text

    console = Console()
    if console.is_terminal:
        console.print(view)
    else:
        write(as_text(view), STANDARD)


def write(text: str, target: str) -> None:
    """To standard output for "-", else to a file, and say so."""
    if target == STANDARD:
        typer.echo(text, nl=not text.endswith("\n"))
        return
    path = Path(target)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"cannot write {path}", found=error.strerror or str(error), do="choose another place"
        ) from error
    typer.echo(f"wrote {path}", err=True)


def size(count: int) -> str:
    """Bytes, as people read them."""
    for unit, wide in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= wide:
            return f"{count / wide:.1f} {unit}"
    return f"{count} bytes"
