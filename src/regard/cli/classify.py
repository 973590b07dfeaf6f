"""`regard classify`: the class of a text, or the words behind its masks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.lines import answer_lines, plain, read_batches

if TYPE_CHECKING:
    from regard.tasks import Classifier

    Answer = tuple[dict[str, Any], str]  # as JSON and as a line


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
    ask = partial(fill_answers, task, top) if task.head == "mask" else partial(class_answers, task)
    answers = ask(texts) if texts else (answer for _, answer in answer_lines(read_batches(task.batch), ask))
    for record, line in answers:
        typer.echo((notation.dumps(record, ensure_ascii=False) if json else plain(line)).encode())


def class_answers(task: Classifier, texts: list[str]) -> list[Answer]:
    """What to say of each text."""
    answers: list[Answer] = []
    for text, one in zip(texts, task.classify(texts), strict=True):
        record = {"text": text, "label": one.label, "probabilities": one.probabilities}
        line = "" if one.label is None else f"{one.label} {one.probabilities[one.label]:.4f}  {text}"
        answers.append((record, line))
    return answers


def fill_answers(task: Classifier, top: int, texts: list[str]) -> list[Answer]:
    """The same for a model that fills in masks."""
    answers: list[Answer] = []
    for text, masks in zip(texts, task.fill(texts, top), strict=True):
        record = {"text": text, "masks": [[one._asdict() for one in words] for words in masks]}
        words = " | ".join(", ".join(f"{one.token} {one.probability:.4f}" for one in best) for best in masks)
        answers.append((record, f"{words}  {text}" if masks else ""))
    return answers
