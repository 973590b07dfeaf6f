"""`regard generate`: a text that goes on."""

from __future__ import annotations

import typer

from regard.cli.verb import write


def generate(
    model: str = typer.Argument(..., metavar="FOLDER", help="A decoder-only model: a folder, or a name on the hub."),
    text: str = typer.Argument(..., metavar="TEXT", help="How the text begins."),
    tokens: int = typer.Option(40, help="How many tokens to add at most."),
    temperature: float = typer.Option(0.0, help="0 for the likeliest text; more to draw, freer as it grows."),
    top_k: int | None = typer.Option(None, help="Draw from that many of the likeliest tokens only."),
    top_p: float | None = typer.Option(None, help="Draw from the fewest tokens that together have this probability."),
    seed: int = typer.Option(0, help="Which text to draw."),
    json: bool = typer.Option(False, "--json", help="The text with its token ids, as JSON."),
    device: str = typer.Option("auto", help="auto, cpu, cuda or mps."),
) -> None:
    """Go on with a text.

    A Hugging Face folder is decoded as its generation config says: at temperature 0 the text is the one that
    transformers gives.
    """
    import json as notation

    from regard.cli.loading import load_as
    from regard.tasks import Generator

    task = load_as(Generator, model, device)
    one = task.go_on([text], tokens, task.drawing(temperature, top_k, top_p, seed))[0]
    if json:
        record = {"prompt": text, "text": one.text, "prompt_ids": one.prompt, "new_ids": one.new}
        write(notation.dumps(record, ensure_ascii=False), "-")
    else:
        write(one.text, "-")
