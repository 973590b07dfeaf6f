"""`regard translate`: lines in, lines out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import typer

from regard.cli.lines import plain, read_lines

if TYPE_CHECKING:
    from regard.tasks.translator import SearchOptions, Translation, Translator

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
    long: str = typer.Option("split", metavar="split|refuse", help="What to do with lines too long for the model."),
    json: bool = typer.Option(False, "--json", help="A JSON object for each line, with scores."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Translate standard input to standard output, one line for each line, in order.

    Empty lines stay empty. A line that is too long to be read at once is translated in pieces, sentence by sentence. A
    Hugging Face folder is decoded as its generation config says: the text is the one that transformers gives.
    """
    from regard.cli.loading import load_as
    from regard.tasks import Translator

    task = load_as(Translator, model, device)
    task.batch = batch
    how: SearchOptions = {"beams": beams, "alpha": alpha, "nbest": nbest, "max_length": max_length, "long": long}
    unfinished = 0
    for source, best in translated(task, read_lines(), how):
        typer.echo((as_json(source, best) if json else as_line(best)).encode())
        unfinished += any(one.cut for one in best)
    if unfinished:
        typer.echo(cut_words(unfinished), err=True)


def translated(task: Translator, lines: Iterator[str], how: SearchOptions) -> Iterator[tuple[str, list[Translation]]]:
    """Each line with its translations; an error counts lines from the first of all, not of the batch."""
    from regard.tasks.long_texts import TooLongError

    before = 0
    while some := list(islice(lines, AHEAD * task.batch)):
        try:
            yield from zip(some, task.search(some, **how), strict=True)
        except TooLongError as error:
            place = before + error.number
            raise TooLongError(place, error.tokens, error.longest, error.text, what="line") from None
        before += len(some)


def cut_words(lines: int) -> str:
    many = "the translation of 1 line" if lines == 1 else f"the translations of {lines:,} lines"
    return (
        f"regard: {many} reached the most tokens allowed, with no end in sight, and stopped there\n"
        '  do: allow more with --max-length, or see which they are with --json ("cut": true)'
    )


def as_line(best: list[Translation]) -> str:
    """Translations on one line, whatever is in them."""
    return "\t".join(plain(one.text) for one in best) if any(one.text for one in best) else ""


def as_json(source: str, best: list[Translation]) -> str:
    import json

    found = [{"text": one.text, "score": one.score, "cut": one.cut} for one in best]
    whole = {"source": source, "translation": best[0].text, "cut": best[0].cut, "nbest": found}
    return escaped(json.dumps(whole, ensure_ascii=False))


def escaped(notation: str) -> str:
    """What some readers take for the end of a line is written as its number."""
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", notation)
