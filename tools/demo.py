"""`make demo`: the worked examples in the terminal, what is wrong in them, and demo/steps.html."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.rule import Rule

import regard
from regard.lens.draw.terminal import report_view, sheet_view
from regard.lens.worked.examples import names

PAGE = Path("demo") / "steps.html"


def main() -> None:
    console = Console()
    for name in names():
        console.print(Rule(f"regard steps --example {name}"))
        console.print(sheet_view(regard.steps(example=name)))
    for name in names():
        console.print(Rule(f"regard check --example {name}"))
        console.print(report_view(regard.check(example=name)))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(regard.steps(example="i-love-ai").to_html("love"), encoding="utf-8")
    console.print(Rule())
    console.print(f"wrote {PAGE}: open it in a browser, it needs no network")


if __name__ == "__main__":
    main()
