"""`make demo`: a translator trained from nothing in some minutes, what it says of the lectures, and what heads do.

The language is the built-in one, so its truth is known: what each "it" refers to, and so whether French must say il or
elle. Two models are shown, and each part says which: the one trained here, to see that training works, and the one that
ships with regard, whose heads are the same on every machine. A second run finds the training finished.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.table import Table

import regard
from regard.cli import app
from regard.text.grammar import examples, lecture

PLACE = Path("demo")
MODEL, PAGE, LOOK = PLACE / "grammar", PLACE / "steps.html", PLACE / "look.html"
SHIPPED = "grammar"
SENTENCE = "The animal didn't cross the street because it was too tired."


def main() -> None:
    console = Console()
    PLACE.mkdir(exist_ok=True)
    PAGE.write_text(regard.steps(example="i-love-ai").to_html("love"), encoding="utf-8")
    console.print(Rule("regard train grammar-tiny: a model of your own"))
    status = run("train", "grammar-tiny", "--out", str(MODEL), *sys.argv[1:])
    if status:  # interrupted: what it has learned is saved, and `make demo` goes on
        sys.exit(status)
    console.print(
        Rule("regard translate: the lectures' sentences, by the model trained here and by the one that ships")
    )
    console.print(lectures())
    console.print(Rule("regard look grammar: the head of the model that ships which decides il or elle"))
    run("look", SHIPPED, SENTENCE, "--site", "decoder.1.cross", "--head", "3", "--token", "il")
    run("look", SHIPPED, SENTENCE, "--html", str(LOOK))
    console.print(f"how the model trained here learned: {MODEL}/curves.html")
    console.print(f"every head of the model that ships, on one sentence: {LOOK}; the six steps by hand: {PAGE}")
    console.print(f"none needs a network. next, the heads that let it say il or elle: regard ablate {SHIPPED}")
    console.print("to touch all of it, in the browser: .venv/bin/regard studio", highlight=False)


def run(*words: str) -> Any:
    """A verb, as from the command line; what it ends with."""
    return app(list(words), standalone_mode=False)


def lectures() -> Table:
    """Sentences that training never has: what each model says, and whether it is right."""
    sentences = {one.source: one for one in (*lecture(), *examples())}.values()
    models = {"trained here": MODEL, "ships": SHIPPED}
    said = {name: regard.load(model).translate([one.source for one in sentences]) for name, model in models.items()}
    table = Table(box=None, show_header=False, pad_edge=False)
    for place, sentence in enumerate(sentences):
        table.add_row(sentence.source, "", "")
        for name, outputs in said.items():
            output = outputs[place]
            table.add_row(
                f"  {output}", name, "right" if output == sentence.target else f"should be: {sentence.target}"
            )
    return table


if __name__ == "__main__":
    main()
