"""A result in a terminal: the sentence, tables, a plot, the rule and the verdict."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.claims.draw.plot_terminal import plot_view
from regard.claims.draw.words import cell_words, number_words, undecided_words
from regard.claims.measurement import Measurement, ResultTable

STYLES = {"holds": "bold green", "holds in part": "bold yellow", "does not hold": "bold red"}


def result_view(facts: dict[str, Any], measurement: Measurement) -> RenderableType:
    """Everything that a person needs to agree or to object."""
    parts: list[RenderableType] = [
        Text(f"“{facts['statement']}”", style="bold"),
        labelled("If so", facts["if_true"]),
        labelled("If not", facts["if_false"]),
        labelled("Control", facts["control"]),
        Text(),
    ]
    for table in measurement.tables:
        parts += [table_view(table), Text()]
    parts += [plot_view(measurement.plot), Text()]
    parts += [labelled("Note", remark) for remark in facts["remarks"]]
    parts += [labelled("Rule", facts["rule"]), labelled("Seeds", seeds_words(facts))]
    parts.append(Text.assemble(("Verdict: ", "bold"), (facts["verdict"], STYLES[facts["verdict"]])))
    if facts["undecided"]:
        parts.append(Text(undecided_words(facts["undecided"])))
    return Group(*parts)


def labelled(name: str, text: str) -> RenderableType:
    """A paragraph behind its name."""
    row = Table.grid(padding=(0, 1))
    row.add_column(width=7, no_wrap=True)
    row.add_column()
    row.add_row(Text(name, style="dim"), Text(text))
    return row


def seeds_words(facts: dict[str, Any]) -> str:
    seeds, where = facts["seeds"], facts["provenance"]
    counted = ", ".join(map(str, seeds))
    form = "full form" if where["full"] else "quick form"
    return f"{counted}; {form}, {number_words(where['seconds'])} s on {where['device']}"


def table_view(table: ResultTable) -> RenderableType:
    grid = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for place, column in enumerate(table.columns):
        grid.add_column(Text(column), justify="left" if place == 0 else "right")
    for row in table.rows:
        grid.add_row(*(Text(cell_words(cell)) for cell in row))
    return Group(Text(table.title, style="bold"), Padding(grid, (0, 0, 0, 2)))


def list_view(rows: list[tuple[str, str]]) -> RenderableType:
    """Every claim with its sentence."""
    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column()
    for name, statement in rows:
        grid.add_row(Text(name), Text(statement))
    return grid


def verdicts_view(rows: list[tuple[str, str, float]]) -> RenderableType:
    """All results at a glance: name, verdict, seconds."""
    grid = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for column in ("claim", "verdict", "seconds"):
        grid.add_column(column, justify="right" if column == "seconds" else "left")
    for name, verdict, seconds in rows:
        grid.add_row(Text(name), Text(verdict, style=STYLES.get(verdict, "bold red")), f"{seconds:.0f}")
    return grid
