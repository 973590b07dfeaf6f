"""`make demo`: a translator trained from nothing in about six minutes, its scores, what it says of the lectures, and
what its heads did.

The language is the built-in one, so its truth is known: what each "it" refers to, and so whether French must say il or
elle. A second run finds the model finished and only shows what it can do.
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
from regard.text.grammar import lecture

PLACE = Path("demo")
MODEL, PAGE, LOOK = PLACE / "grammar", PLACE / "steps.html", PLACE / "look.html"
SENTENCE = "The animal didn't cross the street because it was too tired."


def main() -> None:
    console = Console()
    PLACE.mkdir(exist_ok=True)
    PAGE.write_text(regard.steps(example="i-love-ai").to_html("love"), encoding="utf-8")
    console.print(Rule("regard train grammar-tiny"))
    status = run("train", "grammar-tiny", "--out", str(MODEL), *sys.argv[1:])
    if status:  # interrupted: what it has learned is saved, and `make demo` goes on
        sys.exit(status)
    console.print(Rule("regard translate"))
    console.print(lectures())
    console.print(Rule("regard evaluate grammar:unseen: alignments, and who looks at what it stands for"))
    run("evaluate", str(MODEL), "grammar:unseen", "--limit", "300")
    console.print(Rule("regard look"))
    run("look", str(MODEL), SENTENCE, "--token", "il")
    run("look", str(MODEL), SENTENCE, "--html", str(LOOK))
    console.print(f"how it learned: {MODEL}/curves.html; every head on one sentence: {LOOK}; the six steps: {PAGE}")
    console.print(f"none needs a network. next, the heads that let it say il or elle: regard ablate {MODEL}")


def run(*words: str) -> Any:
    """A verb, as from the command line; what it ends with."""
    return app(list(words), standalone_mode=False)


def lectures() -> Table:
    """The lectures' sentences, both readings of each: what the model says, and whether it is right."""
    sentences = lecture()
    table = Table(box=None, show_header=False, pad_edge=False)
    outputs = regard.load(MODEL).translate([one.source for one in sentences])
    for sentence, output in zip(sentences, outputs, strict=True):
        table.add_row(sentence.source, "")
        table.add_row(f"  {output}", "right" if output == sentence.target else f"should be: {sentence.target}")
    return table


if __name__ == "__main__":
    main()
