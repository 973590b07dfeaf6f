"""`regard classify`: the class of a text, or the words behind its masks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.lines import plain, read_lines

if TYPE_CHECKING:
    from regard.tasks import Classifier


def classify(
    model: str = typer.Argument(..., metavar="FOLDER", help="An encoder-only model: a folder, or a name on the hub."),
    texts: list[str] | None = typer.Argument(None, metavar="[TEXT]...", help="The texts; standard input if none."),
    top: int = typer.Option(5, help="How many words to show for each mask."),
    json: bool = typer.Option(False, "--json", help="A JSON object for each text, with every probability."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Name the class of each text, with its probability. An empty line has none, and stays empty (null with --json).

    A model that was trained to fill in masks (such as BERT) fills them in instead: put its mask token, often [MASK],
    for a word.
    """
    import json as notation

    from regard.cli.loading import load_as
    from regard.tasks import Classifier

    task = load_as(Classifier, model, device)
    given = list(read_lines()) if texts is None or not texts else texts
    answers = filled(task, given, top) if task.head == "mask" else classified(task, given)
    for found, line in answers:
        typer.echo((notation.dumps(found, ensure_ascii=False) if json else plain(line)).encode())


def classified(task: Classifier, texts: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """What to say of each text, as JSON and as a line."""
    for text, one in zip(texts, task.classify(texts), strict=True):
        found = {"text": text, "label": one.label, "probabilities": one.probabilities}
        yield found, "" if one.label is None else f"{one.label} {one.probabilities[one.label]:.4f}  {text}"


def filled(task: Classifier, texts: list[str], top: int) -> Iterator[tuple[dict[str, Any], str]]:
    """The same for a model that fills in masks."""
    for text, masks in zip(texts, task.fill(texts, top), strict=True):
        found = {"text": text, "masks": [[one._asdict() for one in words] for words in masks]}
        words = " | ".join(", ".join(f"{one.token} {one.probability:.4f}" for one in best) for best in masks)
        yield found, f"{words}  {text}" if masks else ""
