"""`regard evaluate`: how good a model is, in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from regard.cli.attention_tables import attention_views
from regard.cli.lines import plain
from regard.cli.texts import COLUMNS, ENCODING, source_of
from regard.cli.verb import show, write
from regard.cli.waiting import Progress
from regard.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from regard.tasks import Translator
    from regard.tasks.model_folder import Task
    from regard.text.scores import Comparison
    from regard.training.evaluate import Evaluation

LABELS = {
    "bleu": "BLEU",
    "bleu_lowercase": "BLEU, lower-cased",
    "bleu_tokenised": "BLEU, lower-cased, Moses tokens",
    "chrf": "chrF",
    "pronoun_agreement": "pronouns that agree",
    "alignment_error_rate": "alignment error rate",
    "alignment_error_rate_sure": "alignment error rate, sure links only",
    "accuracy": "accuracy",
    "macro_f1": "F1, mean over labels",
    "nats_per_token": "nats per token",
    "perplexity": "perplexity per token",
    "nats_per_character": "nats per character",
}
SHARES = ("pronoun_agreement", "alignment_error_rate", "alignment_error_rate_sure", "accuracy", "macro_f1")
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
    with Progress("evaluating") as told:
        found = score(
            task, given, beams=beams, alpha=alpha, batch=batch, language=language, against=other,
            window=block_of(model), told=told,
        )  # fmt: skip
    if isinstance(task, Translator):
        with Progress("looking at attention") as told:
            found = look_into(found, task, given, model, told)
    if output is not None:
        write("".join(f"{plain(text)}\n" for text in found.outputs), output)
    if json:
        write(notation.dumps(found.to_dict(), ensure_ascii=False, indent=2), "-")
    else:
        show(view(found, against))


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


def view(found: Evaluation, against: str | None = None) -> RenderableType:
    """Scores first, with what would be had for nothing beside them; then what they are made of."""
    from rich.console import Group
    from rich.text import Text

    speed = f", {found.words_per_second:,.0f} words a second" if found.words_per_second else ""
    title = f"{found.task}, {found.data}: {found.count:,} {found.unit} in {found.seconds:.1f} s{speed}"
    parts: list[RenderableType] = [Text(title, style="bold"), scores_view(found)]
    parts += [by_length_view(found)] if found.by_length else []
    parts += attention_views(found.attention) if found.attention else []
    parts += [labels_view(found)] if found.labels else []
    parts += [confusion_view(found)] if 1 < len(found.labels) <= MOST else []
    parts += [Text(compared(found.comparison, against))] if found.comparison else []
    parts += [Text(f"note: {note}", style="yellow") for note in found.notes]
    parts += [Text(signatures(found), style="dim")] if signatures(found) else []
    return Group(*(part for number, one in enumerate(parts) for part in ((Text(""), one) if number else (one,))))


def signatures(found: Evaluation) -> str:
    """How the scores came about; those that came about alike on one line."""
    names: dict[str, list[str]] = {}
    for score in found.scores:
        names.setdefault(score.signature, []).append(LABELS[score.name])
    return "\n".join(f"{'; '.join(alike)}: {signature}" for signature, alike in names.items() if signature)


def table(*columns: str) -> Table:
    """Names to the left, numbers to the right."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(columns):
        made.add_column(Text(name), justify="right" if number else "left", no_wrap=bool(number))
    return made


def scores_view(found: Evaluation) -> Table:
    made = table("score", "model", *([found.baseline] if found.baseline else []))
    for score in found.scores:
        beside = found.baselines.get(score.name)
        other = [] if not found.baseline else ["" if beside is None else shown(score.name, beside)]
        made.add_row(LABELS[score.name], shown(score.name, score.value), *other)
    return made


def shown(name: str, value: float) -> str:
    """Shares as percentages, BLEU and chrF as everyone prints them, nats with more digits."""
    if name in SHARES:
        return f"{value:.1f} %"
    return f"{value:.4f}" if name.startswith("nats") else f"{value:,.2f}"


def by_length_view(found: Evaluation) -> Table:
    made = table("words in the source", "pairs", "BLEU")
    for row in found.by_length:
        words = f"over {row.low}" if row.high is None else f"{row.low + 1} to {row.high}"
        made.add_row(words, f"{row.pairs:,}", f"{row.score:.2f}")
    return made


def labels_view(found: Evaluation) -> Table:
    from rich.text import Text

    made = table("label", "precision", "recall", "F1", "texts")
    for row in found.labels:
        made.add_row(Text(row.label), f"{row.precision:.3f}", f"{row.recall:.3f}", f"{row.f1:.3f}", f"{row.texts:,}")
    return made


def confusion_view(found: Evaluation) -> Table:
    from rich.text import Text

    names = [row.label for row in found.labels]
    made = table("true label, and what was said", *names)
    for truth in names:
        made.add_row(Text(truth), *(f"{found.confusion.get((truth, said), 0):,}" for said in names))
    return made


def compared(one: Comparison, against: str | None) -> str:
    return (
        f"against {against}: BLEU {one.ours:.2f} to {one.theirs:.2f}\n"
        f"difference {one.difference:+.2f}, 95 % of resamples within {one.low:+.2f} and {one.high:+.2f}, "
        f"p = {one.p:.3f}\n{one.signature}"
    )
