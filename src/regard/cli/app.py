"""The verbs of `regard`, and what every one of them shares."""

from __future__ import annotations

import typer

import regard
from regard.cli.ablate import ablate
from regard.cli.align import align
from regard.cli.check import check
from regard.cli.claim import claim
from regard.cli.classify import classify
from regard.cli.evaluate import evaluate
from regard.cli.export import export
from regard.cli.generate import generate
from regard.cli.heads import heads
from regard.cli.info import info
from regard.cli.look import look
from regard.cli.models import models
from regard.cli.plan import plan
from regard.cli.record import record
from regard.cli.serve import serve
from regard.cli.steps import steps
from regard.cli.studio import studio
from regard.cli.train import train
from regard.cli.translate import translate
from regard.cli.verb import VerbCommand, flowing

app = typer.Typer(
    name="regard",
    help="The Transformer with nothing hidden: train it, run it, and look at every attention weight it used.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    steps, check, plan, train, evaluate, translate, generate, classify, look, record, heads, align, ablate, info,
    models, export, serve, studio, claim,
):  # fmt: skip
    app.command(cls=VerbCommand, help=flowing(verb.__doc__))(verb)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"regard {regard.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show the version."),
) -> None:
    """What comes before any verb."""
