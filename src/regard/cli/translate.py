"""`regard translate`: lines in, lines out."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import typer

from regard.cli.lines import plain, read_lines

if TYPE_CHECKING:
    from regard.tasks.translator import Translation

AHEAD = 8  # batches read before the first line comes out: enough to put texts of like length together


def translate(
    model: str = typer.Argument(..., metavar="FOLDER", help="An encoder-decoder: a folder, or a name on the hub."),
    beams: int | None = typer.Option(
        None, help="How many texts to follow at once; 1 is greedy (4, or as the folder says)."
    ),
    alpha: float | None = typer.Option(None, help="How much length is favoured (0.6, or as the folder says)."),
    nbest: int = typer.Option(1, help="How many translations of each line, best first, with tabs between."),
    max_length: int | None = typer.Option(None, help="Tokens of a translation at most."),
    batch: int = typer.Option(32, min=1, help="Lines translated side by side."),
    json: bool = typer.Option(False, "--json", help="A JSON object for each line, with scores."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Translate standard input to standard output, one line for each line, in order.

    Empty lines stay empty. A Hugging Face folder is decoded as its generation config says: the text is the one that
    transformers gives.
    """
    from regard.cli.loading import load_as
    from regard.tasks import Translator

    task = load_as(Translator, model, device)
    task.batch = batch
    lines = read_lines()
    while some := list(islice(lines, AHEAD * batch)):
        found = task.search(some, beams=beams, alpha=alpha, nbest=nbest, max_length=max_length)
        for source, best in zip(some, found, strict=True):
            typer.echo((as_json(source, best) if json else as_line(best)).encode())


def as_line(best: list[Translation]) -> str:
    """Translations on one line, whatever is in them."""
    return "\t".join(plain(one.text) for one in best) if any(one.text for one in best) else ""


def as_json(source: str, best: list[Translation]) -> str:
    import json

    found = [{"text": one.text, "score": one.score} for one in best]
    return json.dumps({"source": source, "translation": best[0].text, "nbest": found}, ensure_ascii=False)
