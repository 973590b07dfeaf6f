"""`regard plan`: what a training run will take, before it is begun."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.verb import show, size, write
from regard.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from regard.training.plan.forecast import Forecast

UNITS = ((1e21, "ZFLOP"), (1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"))


def plan(
    what: list[str] = typer.Argument(
        ..., metavar="RECIPE|DATA", help="A recipe's name, a .toml file, or one or two files of text."
    ),
    data: Path | None = typer.Option(None, metavar="DIR", help="Where the files named in a recipe are."),
    settings: list[str] | None = typer.Option(
        None, "--set", metavar="KEY=VALUE", help="Change one setting, such as training.steps=500; may be repeated."
    ),
    scratch: bool = typer.Option(
        False, "--scratch", help="Fresh weights, where a model that ships would be fine-tuned."
    ),
    gpu: str | None = typer.Option(
        None, metavar="NAME", help="A GPU that is not here, such as h100; cpu or nothing: measure this machine."
    ),
    gpus: int = typer.Option(1, min=1, metavar="N", help="How many of them share each batch."),
    price: float | None = typer.Option(None, min=0, help="What an hour of one of them costs you."),
    kwh: float | None = typer.Option(None, min=0, help="What a kilowatt-hour costs you."),
    watts: float | None = typer.Option(
        None, min=0, help="What this machine or each GPU draws; by default as published."
    ),
    json: bool = typer.Option(False, "--json", help="The same as JSON."),
) -> None:
    """Say what a training run will take: parameters, arithmetic, tokens, time, memory, energy and what they cost.

    Without --gpu this machine is measured, as regard train does before it begins. With it, time follows from runs that
    were really made, scaled by what makers publish. Below the table stands what each number rests on. Text that is here
    is read; for a GPU it need not be.
    """
    from regard.training.plan.forecast import Prices
    from regard.training.recipe.resolve import Request
    from regard.training.run.forecast_run import forecast_run

    if len(what) > 2:
        raise InputError("a model is trained from a recipe, or from one or two files", found=f"{len(what)} names")
    given = what[0] if len(what) == 1 else what
    request = Request(given, Path("." if data is None else data), settings or [], scratch=scratch)
    forecast = forecast_run(request, gpu, gpus, Prices(price, kwh, watts))
    if json:
        import json as notation

        write(notation.dumps(forecast.to_dict(), ensure_ascii=False, indent=2), "-")
        return
    show(as_table(forecast))
    for line in forecast.basis:
        typer.echo(f"  {line}")


def as_table(forecast: Forecast) -> RenderableType:
    from rich.table import Table

    from regard.training.report.run_log import duration

    table = Table(box=None, show_header=False, pad_edge=False)
    many = f"{forecast.gpus} x " if forecast.gpus > 1 else ""
    table.add_row("run", f"{forecast.recipe} on {many}{forecast.machine}")
    table.add_row("parameters", f"{forecast.parameters:,}")
    epochs = "" if forecast.epochs is None else f", {forecast.epochs:,.1f} times the text"
    table.add_row("tokens", f"{forecast.tokens:,.0f} in {forecast.steps:,} updates{epochs}")
    table.add_row("arithmetic", flops_words(forecast.flops))
    speed = forecast.tokens / max(forecast.seconds, 1e-9)
    table.add_row("time", f"{duration(forecast.seconds)} ({speed:,.0f} tokens/s)")
    table.add_row("memory", memory_words(forecast))
    if forecast.kwh is not None:
        table.add_row("energy", f"{forecast.kwh:,.3g} kWh")
    for name, cost in forecast.cost.items():
        table.add_row(f"cost of {name}", f"{cost:,.2f}")
    return table


def flops_words(flops: float) -> str:
    """3.9 PFLOP: as large a unit as fits."""
    unit, name = next(((unit, name) for unit, name in UNITS if flops >= unit), UNITS[-1])
    return f"{flops / unit:,.3g} {name}"


def memory_words(forecast: Forecast) -> str:
    memory, there = forecast.memory, forecast.memory_there
    steady = memory.total - memory.activations
    words = f"{size(int(memory.total))}: {size(int(steady))} for the weights and all that goes with them, "
    words += f"{size(int(memory.activations))} for a batch"
    if there is None:
        return words
    fits = memory.total <= there
    return f"{words}; {size(int(there))} are there" + ("" if fits else ", which is too little: training.micro_batches")
