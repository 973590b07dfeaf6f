"""`regard evaluate`: how good a model is, in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from regard.cli.attention_tables import attention_views
from regard.cli.lines import plain
from regard.cli.score_tables import LABELS, shown, table
from regard.cli.texts import COLUMNS, ENCODING, source_of
from regard.cli.verb import show, write
from regard.cli.waiting import ProgressBar
from regard.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from regard.tasks import Translator
    from regard.tasks.model_folder import Task
    from regard.text.scores import Comparison
    from regard.training.evaluate import Evaluation

MOST = 12  # labels whose confusion is shown


def evaluate(
    model: str = typer.Argument(
        ..., metavar="MODEL", help="A folder, a model that ships (grammar), or a name on the hub."
    ),
    data: list[str] = typer.Argument(
        ..., metavar="DATA", help="A file, two aligned ones, or grammar:NAME:COUNT:SEED, where numbers may be left out."
    ),
    against: str | None = typer.Option(None, metavar="OTHER", help="Another translator to compare with."),
    beams: int | None = typer.Option(
        None, help="How many texts to follow at once; 1 is greedy (4, or as the folder says)."
    ),
    alpha: float | None = typer.Option(None, help="How much length is favoured (0.6, or as the folder says)."),
    batch: int | None = typer.Option(None, min=1, help="Texts side by side."),
    language: str | None = typer.Option(None, help="Of the translations, for Moses tokens (as trained, or guessed)."),
    columns: str | None = typer.Option(None, metavar="A,B", help=COLUMNS),
    encoding: str | None = typer.Option(None, metavar="NAME", help=ENCODING),
    output: str | None = typer.Option(None, metavar="FILE", help="Write what the model said, one text a line."),
    limit: int | None = typer.Option(None, min=1, help="Only the first so many rows."),
    json: bool = typer.Option(False, "--json", help="The scores as JSON, with their signatures."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Score a model on data that it has not seen.

    A translator is given pairs (a TSV, two files, any corpus that training reads, or grammar:unseen), a classifier
    texts with labels, a language model or one that fills in words plain text. On a set of the grammar, attention is
    scored too: its word alignments, and which heads look at the noun that "it" stands for. A set that nobody has
    looked at yet is one with a seed of your own: grammar:test:1000:7.
    """
    import json as notation

    from regard.cli.loading import load_any
    from regard.tasks import Translator
    from regard.training.evaluate import block_of, look_into, read_data, target_language
    from regard.training.evaluate import evaluate as score

    given = read_data(source_of(data, columns, encoding), limit=limit)
    task, other = load_any(model, device), rival(against, device)
    if output is not None:
        check_output(task)
    language = language or target_language(model)
    with ProgressBar("evaluating") as on_progress:
        evaluation = score(
            task, given, beams=beams, alpha=alpha, batch=batch, language=language, against=other,
            window=block_of(model), on_progress=on_progress,
        )  # fmt: skip
    if isinstance(task, Translator):
        with ProgressBar("looking at attention") as on_progress:
            evaluation = look_into(evaluation, task, given, model, on_progress)
    if output is not None:
        write("".join(f"{plain(text)}\n" for text in evaluation.outputs), output)
    if json:
        write(notation.dumps(evaluation.to_dict(), ensure_ascii=False, indent=2), "-")
    else:
        show(view(evaluation, against))


def rival(name: str | None, device: str) -> Translator | None:
    """The other translator, if there is one."""
    from regard.cli.loading import load_as
    from regard.tasks import Translator

    return None if name is None else load_as(Translator, name, device)


def check_output(task: Task) -> None:
    """Some models only foretell words: nothing is said that could be written."""
    from regard.tasks import Generator

    if isinstance(task, Generator) or getattr(task, "head", "") == "mask":
        raise InputError("this model is scored without writing texts", do="leave out --output")


def view(evaluation: Evaluation, against: str | None = None) -> RenderableType:
    """Scores first, with what would be had for nothing beside them; then what they are made of."""
    from rich.console import Group
    from rich.text import Text

    speed = f", {evaluation.words_per_second:,.0f} words a second" if evaluation.words_per_second else ""
    amount = f"{evaluation.count:,} {evaluation.unit} in {evaluation.seconds:.1f} s{speed}"
    title = f"{evaluation.task}, {evaluation.data}: {amount}"
    parts: list[RenderableType] = [Text(title, style="bold"), scores_view(evaluation)]
    parts += [by_length_view(evaluation)] if evaluation.by_length else []
    parts += attention_views(evaluation.attention) if evaluation.attention else []
    parts += [labels_view(evaluation)] if evaluation.labels else []
    parts += [confusion_view(evaluation)] if 1 < len(evaluation.labels) <= MOST else []
    parts += [Text(compared(evaluation.comparison, against))] if evaluation.comparison else []
    parts += [Text(f"note: {note}", style="yellow") for note in evaluation.notes]
    parts += [Text(signatures(evaluation), style="dim")] if signatures(evaluation) else []
    return Group(*(part for number, one in enumerate(parts) for part in ((Text(""), one) if number else (one,))))


def signatures(evaluation: Evaluation) -> str:
    """How the scores came about; those that came about alike on one line."""
    names: dict[str, list[str]] = {}
    for score in evaluation.scores:
        names.setdefault(score.signature, []).append(LABELS[score.name])
    return "\n".join(f"{'; '.join(alike)}: {signature}" for signature, alike in names.items() if signature)


def scores_view(evaluation: Evaluation) -> Table:
    grid = table("score", "model", *([evaluation.baseline] if evaluation.baseline else []))
    for score in evaluation.scores:
        beside = evaluation.baselines.get(score.name)
        other = [] if not evaluation.baseline else ["" if beside is None else shown(score.name, beside)]
        grid.add_row(LABELS[score.name], shown(score.name, score.value), *other)
    return grid


def by_length_view(evaluation: Evaluation) -> Table:
    grid = table("words in the source", "pairs", "BLEU")
    for row in evaluation.by_length:
        words = f"over {row.low}" if row.high is None else f"{row.low + 1} to {row.high}"
        grid.add_row(words, f"{row.pairs:,}", f"{row.score:.2f}")
    return grid


def labels_view(evaluation: Evaluation) -> Table:
    from rich.text import Text

    grid = table("label", "precision", "recall", "F1", "texts")
    for row in evaluation.labels:
        grid.add_row(Text(row.label), f"{row.precision:.3f}", f"{row.recall:.3f}", f"{row.f1:.3f}", f"{row.texts:,}")
    return grid


def confusion_view(evaluation: Evaluation) -> Table:
    from rich.text import Text

    names = [row.label for row in evaluation.labels]
    grid = table("true label, and what was said", *names)
    for label in names:
        grid.add_row(Text(label), *(f"{evaluation.confusion.get((label, output), 0):,}" for output in names))
    return grid


def compared(one: Comparison, against: str | None) -> str:
    return (
        f"against {against}: BLEU {one.ours:.2f} to {one.theirs:.2f}\n"
        f"difference {one.difference:+.2f}, 95 % of resamples within {one.low:+.2f} and {one.high:+.2f}, "
        f"p = {one.p:.3f}\n{one.signature}"
    )
