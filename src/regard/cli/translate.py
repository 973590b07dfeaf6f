"""`regard translate`: lines in, lines out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.lines import answer_lines, plain, read_batches

if TYPE_CHECKING:
    from torch import nn

    from regard.tasks.translator import SearchOptions, Translation, Translator
    from regard.text.scores.alignment_error import Link

    Links = list[list[Link]] | None  # of each translation
    BestAndLinks = tuple[list[Translation], Links]

DTYPES = ("float32", "bfloat16", "float16")
LINES = 64  # of a batch, where nothing is said
AHEAD = 8  # batches translated together if as many lines are there: enough to put texts of like length together


def translate(
    model: str = typer.Argument(
        ..., metavar="FOLDER", help="An encoder-decoder: a folder, a model that ships (grammar), or a name on the hub."
    ),
    beams: int | None = typer.Option(
        None, help="How many texts to follow at once; 1 is greedy (4, or as the folder says)."
    ),
    alpha: float | None = typer.Option(None, help="How much length is favoured (0.6, or as the folder says)."),
    nbest: int = typer.Option(1, help="How many translations of each line, best first, with tabs between."),
    max_length: int | None = typer.Option(None, help="Tokens of a translation at most."),
    batch: int | None = typer.Option(None, min=1, help="Lines translated side by side at most."),
    stop: str | None = typer.Option(
        None, metavar="likely|proven|full", help="When to end a search (likely, or as the folder says)."
    ),
    long: str = typer.Option("split", metavar="split|refuse", help="What to do with lines too long for the model."),
    alignments: bool = typer.Option(False, "--alignments", help="A tab behind each translation, and its links."),
    json: bool = typer.Option(False, "--json", help="A JSON object for each line, with scores."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    dtype: str = typer.Option(
        "float32", metavar="float32|bfloat16|float16", help="In which numbers to compute: half of them suit a GPU."
    ),
) -> None:
    """Translate standard input to standard output, one line for each line, in order, as soon as it is there.

    Empty lines stay empty. A line that is too long to be read at once is translated in pieces, sentence by sentence. A
    Hugging Face folder is decoded as its generation config says: the text is the one that transformers gives.

    With --alignments every translation is followed by a tab and links between words at white space, 0-2 for the first
    of the line and the third of the translation. Where in the model they are read is as alignment.json beside it says
    (regard align --save), else chosen on the first lines, which are then waited for.
    """
    from regard.cli.loading import load_as
    from regard.tasks import Translator

    task = load_as(Translator, model, device)
    task.batch = batch or task.batch
    compute_in(task.model, dtype)
    how: SearchOptions = {
        "beams": beams, "alpha": alpha, "nbest": nbest, "max_length": max_length, "long": long, "stop": stop,
    }  # fmt: skip
    search = AligningSearch(task, how, model) if alignments else PlainSearch(task, how)
    cut_lines = 0
    batches = read_batches(AHEAD * (batch or LINES), full=search.chooses)
    for source, (best, links) in answer_lines(batches, search):
        typer.echo((as_json(source, best, links) if json else as_line(best, links)).encode())
        cut_lines += any(one.cut for one in best)
    if cut_lines:
        typer.echo(cut_words(cut_lines), err=True)


def compute_in(model: nn.Module, name: str) -> None:
    """Round the weights to another dtype, if another is asked for."""
    import torch

    from regard.errors import UnknownNameError

    if name not in DTYPES:
        raise UnknownNameError("dtype", name, DTYPES)
    if name != DTYPES[0]:
        model.to(getattr(torch, name))


class PlainSearch:
    """Translations alone."""

    def __init__(self, task: Translator, how: SearchOptions) -> None:
        self.task, self.how = task, how

    def chooses(self) -> bool:
        """Whether the next texts decide how all are answered: then they may not be those that happen to be there."""
        return False

    def __call__(self, texts: list[str]) -> Sequence[BestAndLinks]:
        return [(best, None) for best in self.task.search(texts, **self.how)]


class AligningSearch(PlainSearch):
    """Translations with the links of their words; where they are read is chosen once, and told."""

    def __init__(self, task: Translator, how: SearchOptions, model: str) -> None:
        from regard.interop.folders import locate
        from regard.lens.alignment.stored_choice import read_choice

        super().__init__(task, how)
        self.choice = read_choice(locate(model), task.model)

    def chooses(self) -> bool:
        return self.choice is None

    def __call__(self, texts: list[str]) -> Sequence[BestAndLinks]:
        from regard.lens.alignment.translation import search_aligned

        known = self.choice is not None
        self.choice, aligned = search_aligned(self.task, texts, self.choice, words, **self.how)
        if self.choice is not None and not known:
            advice = "regard align MODEL PAIRS --save would choose on more"
            typer.echo(f"regard: alignments are read at {self.choice.reading} ({self.choice.how})", err=True)
            typer.echo(f"  do: {advice}", err=True)
        return aligned


def words(text: str) -> list[str]:
    """As they stand on the line that is written."""
    return plain(text).split()


def cut_words(lines: int) -> str:
    many = "the translation of 1 line" if lines == 1 else f"the translations of {lines:,} lines"
    return (
        f"regard: {many} reached the most tokens allowed, with no end in sight, and stopped there\n"
        '  do: allow more with --max-length, or see which they are with --json ("cut": true)'
    )


def as_line(best: list[Translation], links: Links = None) -> str:
    """Translations on one line, whatever is in them, each with its links behind it if it has any."""
    from regard.text.scores.alignment_error import pharaoh

    if not any(one.text for one in best):
        return ""
    cells = [[plain(one.text)] for one in best]
    for cell, own_links in zip(cells, links or (), strict=False):
        cell.append(pharaoh(own_links))
    return "\t".join(part for cell in cells for part in cell)


def as_json(source: str, best: list[Translation], links: Links = None) -> str:
    import json

    nbest: list[dict[str, Any]] = [{"text": one.text, "score": one.score, "cut": one.cut} for one in best]
    for one, own_links in zip(nbest, links or (), strict=False):
        one["alignment"] = own_links
    whole = {"source": source, "translation": best[0].text, "cut": best[0].cut}
    whole |= {"alignment": links[0]} if links else {}
    return escape_line_ends(json.dumps(whole | {"nbest": nbest}, ensure_ascii=False))


def escape_line_ends(notation: str) -> str:
    """What some readers take for the end of a line is written as its number."""
    return re.sub("[\x7f-\x9f\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", notation)
