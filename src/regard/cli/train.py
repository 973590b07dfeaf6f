"""`regard train`: from a recipe, or from your own text, to a model in a folder."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.lines import plain
from regard.cli.texts import COLUMNS, ENCODING, as_columns
from regard.cli.verb import write
from regard.errors import FileError, InputError, RegardError

if TYPE_CHECKING:
    from regard.training import Outcome
    from regard.training.report.events import Event

INTERRUPTED = {"Ctrl-C": 130, "SIGTERM": 143}  # what a shell expects after either
MINUTES = 10  # what is offered when training would take longer
LINE = 100  # characters of an example at most
VERBS = {"transformer": "translate", "recurrent": "translate", "decoder": "generate", "encoder": "classify"}


def train(
    what: list[str] | None = typer.Argument(
        None, metavar="RECIPE|DATA", help="A recipe's name, a .toml file, or one or two files of text."
    ),
    out: Path | None = typer.Option(None, metavar="FOLDER", help="Where the model goes."),
    data: Path | None = typer.Option(None, metavar="DIR", help="Where the files named in a recipe are."),
    settings: list[str] | None = typer.Option(
        None, "--set", metavar="KEY=VALUE", help="Change one setting, such as training.steps=500; may be repeated."
    ),
    task: str | None = typer.Option(None, metavar="TASK", help="translate, generate, mask or classify."),
    start: str | None = typer.Option(None, metavar="MODEL", help="Fine-tune this model: its tokenizer, a low rate."),
    scratch: bool = typer.Option(
        False, "--scratch", help="Fresh weights, where a model that ships would be fine-tuned."
    ),
    columns: str | None = typer.Option(None, metavar="A,B", help=COLUMNS),
    encoding: str | None = typer.Option(None, metavar="NAME", help=ENCODING),
    strict: bool = typer.Option(False, "--strict", help="Stop at the first line that would have to be dropped."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
    minutes: float | None = typer.Option(
        None,
        metavar="M",
        help="All the time there is: this machine is measured, and sizes and steps are chosen to fit.",
    ),
    seed: int | None = typer.Option(None, help="Which random numbers to use."),
    threads: int | None = typer.Option(
        None, min=1, help="How many threads the CPU uses; by default what is fastest now, and what a run began with."
    ),
    layout: str | None = typer.Option(
        None, metavar="LAYOUT", help="Of the weights over torchrun's processes: replicated (DDP) or sharded (FSDP2)."
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print the recipe and the sizes; train nothing."),
    tensorboard: bool = typer.Option(False, "--tensorboard", help="Write FOLDER/tensorboard too (an extra)."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress, only warnings."),
    json: bool = typer.Option(False, "--json", help="The outcome as JSON."),
) -> None:
    """Train a model, or go on with training it: the same command picks up where the last one stopped.

    With --start it begins with a trained model, ours or Hugging Face's, instead of fresh weights: with its tokenizer
    and sizes, at a lower rate. Pairs of your own in languages that a model which ships translates (regard models) start
    from that one, with --scratch from fresh weights. What it knew is held on to by training.anchor.

    A recipe that asks for synthetic pairs (its tables distillation and back_translation) first trains or takes the
    models that write them, in FOLDER/teacher and FOLDER/reverse; --dry-run tells the stages.

    Without arguments, lists the recipes that come with regard. Ends with status 0 when the model is finished, 130 or
    143 when it was interrupted (everything is saved), 2 when something is wrong.
    """
    given, folder = check_arguments(what, out, json)
    how = {
        "data": data, "settings": settings or [], "task": task, "strict": strict, "device": device, "minutes": minutes,
        "seed": seed, "threads": threads, "tensorboard": tensorboard, "columns": as_columns(columns),
        "encoding": encoding, "start": start, "scratch": scratch, "layout": layout,
    }  # fmt: skip
    try:
        if dry_run:
            rehearse(given, folder, how, json)
        else:
            run(given, folder, how, quiet, json)
    except RegardError as error:
        if said_by_another(error):
            raise typer.Exit(2) from error
        raise
    except KeyboardInterrupt:  # before training listens to it, or the second one
        typer.echo("regard: stopped", err=True)
        raise typer.Exit(130) from None


def said_by_another(error: RegardError) -> bool:
    """Of what all processes of torchrun find wrong alike, the first one speaks."""
    from regard.training import SharedError, first_process

    return isinstance(error, SharedError) and not first_process()


def check_arguments(what: list[str] | None, out: Path | None, json: bool) -> tuple[str | list[str], Path]:
    """What to train from and where to; with nothing to train from, the recipes there are."""
    if not what:
        list_recipes(json)
        raise typer.Exit
    if len(what) > 2:
        raise InputError(
            "a model is trained from a recipe, or from one or two files",
            found=f"{len(what)} names",
            do="write a recipe that names them all, such as mine.toml",
        )
    if out is None:
        raise InputError("there is no place for the model", do=f"regard train {shlex.join(what)} --out FOLDER")
    return (what[0] if len(what) == 1 else what), out


def list_recipes(json: bool) -> None:
    import json as notation

    from regard.training.recipe.recipe import names

    if json:
        write(notation.dumps(names()), "-")
        return
    write("\n".join(["recipes that come with regard:", *(f"  {name}" for name in names())]), "-")
    write("\nregard train RECIPE --out FOLDER, or regard train FILE --out FOLDER with your own text", "-")


def run(given: str | list[str], folder: Path, how: dict[str, Any], quiet: bool, json: bool) -> None:
    """Train, and say where the model is and what to type next."""
    from regard.cli.progress import TrainingProgress
    from regard.training import first_process
    from regard.training import train as train_model

    speaks = first_process()
    with TrainingProgress(quiet or not speaks, quick=quick_command(folder)) as progress:
        outcome = train_model(given, folder, listener=progress, **how)
    if json and speaks:
        write(as_json(outcome), "-")
    if outcome.status == "interrupted":
        if speaks:
            typer.echo(f"saved at step {outcome.step:,}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED.get(outcome.why, 130))
    if speaks and not json:
        write("\n".join(outcome_lines(outcome, progress.source)), "-")


def quick_command(folder: Path) -> str:
    """The command that was typed, with a budget of ten minutes instead of steps, and a folder of its own."""
    words, typed = [], iter(sys.argv[1:])
    for word in typed:
        option, equals, value = word.partition("=")
        if option in ("--out", "--set"):
            value = value if equals else next(typed, "")
            value = f"{folder}-{MINUTES}min" if option == "--out" else value
            steps = option == "--set" and value.partition("=")[0].strip() == "training.steps"
            words += [] if steps else [option, value]
        else:
            words.append(word)
    return shlex.join(["regard", *words, "--minutes", str(MINUTES)]) if "--out" in words else ""


def outcome_lines(outcome: Outcome, source: str) -> Iterator[str]:
    """Where the model is, how good it is, how to use it."""
    from regard.training.report.run_log import duration, score_name, score_words

    why = f" ({outcome.why})" if outcome.why else ""
    verdict = "is finished" if outcome.status == "already finished" else "is ready"
    yield f"{outcome.folder} {verdict}: {outcome.step:,} steps in {duration(outcome.seconds)}{why}"
    wide = max(map(len, outcome.scores), default=0)
    for name, scores in outcome.scores.items():
        yield f"  {name:<{wide}}  " + "  ".join(f"{score_name(key)} {score_words(key, scores[key])}" for key in scores)
    if (outcome.folder / "curves.html").is_file():
        yield f"how it learned: {outcome.folder / 'curves.html'}"
    yield f"next: {next_command(outcome.folder, source)}"


def next_command(folder: Path, source: str) -> str:
    """What to type to use the model, with a text it has seen if there is one."""
    from regard.models.checkpoint import read_settings

    try:
        settings = read_settings(folder)
    except FileError:
        settings = {}
    verb = VERBS.get(str(settings.get("family")), "info")
    source = "Hello, [MASK]." if settings.get("head") == "mask" else source
    place, text = shlex.quote(str(folder)), shlex.quote(plain(source) if 0 < len(source) <= LINE else "Hello.")
    if verb == "translate":
        return f"echo {text} | regard translate {place}"
    return f"regard {verb} {place}" + (f" {text}" if verb != "info" else "")


def rehearse(given: str | list[str], folder: Path, how: dict[str, Any], json: bool) -> None:
    """Print the recipe, and as comments the size of the model and what would be read: the output is a recipe too."""
    from regard.training import first_process
    from regard.training import train as train_model
    from regard.training.report.events import Note

    events: list[Event] = []
    outcome = train_model(given, folder, dry_run=True, listener=events.append, **how)
    notes = [event.text for event in events if isinstance(event, Note)]
    if not first_process():
        return
    if json:
        write(as_json(outcome, notes=notes), "-")
        return
    lines = [f"{outcome.parameters:,} parameters", *(line for note in notes for line in note.split("\n"))]
    write(outcome.recipe.rstrip("\n") + "\n\n" + "\n".join(f"# {line}" for line in lines), "-")


def as_json(outcome: Outcome, **more: Any) -> str:
    import json
    from dataclasses import asdict

    return json.dumps(known({**asdict(outcome), "folder": str(outcome.folder), **more}), ensure_ascii=False, indent=2)


def known(value: Any) -> Any:
    """JSON has no word for what is not a number."""
    if isinstance(value, dict):
        return {name: known(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
