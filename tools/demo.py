"""`make demo`: a translator trained from nothing in about five minutes, its scores, and what it says of the lectures.

The language is the built-in one, so its truth is known: what each "it" refers to, and so whether French must say il or
elle. A second run finds the model finished and only shows what it can do.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.table import Table

import regard
from regard.cli import app
from regard.text.grammar import lecture

PLACE = Path("demo")
MODEL, PAGE = PLACE / "grammar", PLACE / "steps.html"


def main() -> None:
    console = Console()
    PLACE.mkdir(exist_ok=True)
    PAGE.write_text(regard.steps(example="i-love-ai").to_html("love"), encoding="utf-8")
    console.print(Rule("regard train grammar-tiny"))
    status = app(["train", "grammar-tiny", "--out", str(MODEL), *sys.argv[1:]], standalone_mode=False)
    if status:  # interrupted: what it has learned is saved, and `make demo` goes on
        sys.exit(status)
    console.print(Rule("regard translate"))
    console.print(lectures())
    console.print(
        f"{MODEL}/curves.html shows how it learned; {PAGE} the six steps of attention. Neither needs a network."
    )


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
