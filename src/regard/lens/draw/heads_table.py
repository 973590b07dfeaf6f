"""The table of heads, for a terminal, for print() and for a notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.drawing.heat_cells import style
from regard.drawing.plain import as_text

COLUMNS = {
    "entropy": "entropy", "top_weight": "top weight", "distance": "distance", "first": "first token", "own": "itself",
    "previous": "previous", "induction": "induction",
}  # fmt: skip
STRONG = 0.6  # of the largest in a column, from which on a number is tinted
ORANGE = 0.64  # where the scale of colours comes to orange
TINT = 55  # percent of colour behind the largest number of a column, on a page
FIRST, LAST = 36, 12  # heads of a long table that are printed
ABOUT = (
    "Means over every row: entropy in nats, the largest weight, distance in tokens, and the weight on the first token, "
    "on the token itself, on the one before it, and on what followed earlier occurrences of it (induction). "
    "– where that has no meaning."
)
STYLE = """.heads { font: 13px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
.heads table { border-collapse: collapse; } .heads th { font-weight: 600; text-align: right; }
.heads th, .heads td { padding: 1px 9px; text-align: right; } .heads th[scope=row], .heads .site { text-align: left; }
.heads tr.next > * { border-top: 1px solid color-mix(in srgb, currentcolor 20%, transparent); }
.heads td { background: color-mix(in srgb, #ea7317 var(--heat, 0%), transparent); }
.heads p { max-width: 64em; opacity: 0.75; margin: 6px 0 0; }"""


@dataclass(frozen=True)
class Head:
    """One line of the table; NaN where a measure has no meaning, as distances from one text to another."""

    site: str
    head: int
    entropy: float  # in nats
    top_weight: float
    distance: float  # mean distance of what it looks at
    first: float  # weight on the first token
    own: float  # weight on the token itself
    previous: float  # weight on the token before
    induction: float  # weight on tokens that came after an earlier occurrence of the same token


def heads_view(lines: list[Head], sort: str | None = None) -> RenderableType:
    """Every head on a line, and what the columns mean."""
    return Group(lines_view(lines, ordered(lines, sort), together=sort is None), Text(""), about_view())


def heads_text(lines: list[Head]) -> str:
    """As print() shows it: of many heads the first and the last, and where to find the others."""
    first, last, left_out = shortened(lines)
    parts: list[RenderableType] = [lines_view(lines, first)]
    if left_out:
        parts += [Text(left_out), lines_view(lines, last, heading=False)]
    return as_text(Group(*parts, Text(""), about_view()))


def about_view() -> Text:
    return Text(ABOUT, style="dim")


def shortened(lines: list[Head]) -> tuple[list[Head], list[Head], str]:
    """The first, the last, and what is said between them: nothing where all fit."""
    if len(lines) <= FIRST + LAST:
        return lines, [], ""
    between = len(lines) - FIRST - LAST
    return lines[:FIRST], lines[-LAST:], f"… {between:,} more heads: all are in .lines, and .to_csv(path) writes them"


def lines_view(table: list[Head], lines: Sequence[Head], *, together: bool = True, heading: bool = True) -> Table:
    """A line a head, sites together; the strongest of each column of the table are tinted, its parts stand aligned."""
    view = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), show_header=heading)
    widest = max((len(line.site) for line in table), default=0)
    view.add_column("site", overflow="fold", min_width=min(max(widest, 12), 30))  # a long name is folded
    most = {name: largest(table, name) for name in COLUMNS}
    for name, title in (("head", "head"), *COLUMNS.items()):
        wide = max((len(cell(line, name)) for line in table), default=0)
        view.add_column(title, justify="right", no_wrap=True, min_width=max(wide, len(title)))
    before = ""
    for line in lines:
        if together and before and line.site != before:
            view.add_row()
        cells = [Text(cell(line, name), style=tinted(share(line, name, most))) for name in COLUMNS]
        view.add_row("" if together and line.site == before else line.site, str(line.head), *cells)
        before = line.site
    return view


def tinted(share: float) -> str:
    tint = (share - STRONG) / (1 - STRONG)
    return str(style(ORANGE * tint)) if tint > 0 else ""


def ordered(lines: list[Head], sort: str | None) -> list[Head]:
    """As they were called, or the largest first; what has no number comes last."""
    if sort is None:
        return lines
    return sorted(lines, key=lambda line: (math.isnan(getattr(line, sort)), -getattr(line, sort)))


def largest(lines: list[Head], name: str) -> float:
    return max((number for line in lines if not math.isnan(number := getattr(line, name))), default=0.0)


def share(line: Head, name: str, most: dict[str, float]) -> float:
    """Of the largest number in its column."""
    number: float = getattr(line, name)
    return 0.0 if math.isnan(number) or not most[name] else number / most[name]


def cell(line: Head, name: str) -> str:
    if name == "head":
        return str(line.head)
    number: float = getattr(line, name)
    return "–" if math.isnan(number) else f"{number:.1f}" if name == "distance" else f"{number:.3f}"


def heads_html(lines: list[Head]) -> str:
    """The same for a notebook; its styles touch nothing else there."""
    first, last, left_out = shortened(lines)
    most = {name: largest(lines, name) for name in COLUMNS}
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("head", *COLUMNS.values()))
    gap = f'<tr class="next"><td class="site" colspan="{len(COLUMNS) + 2}">{escape(left_out)}</td></tr>'
    body = rows_html(first, most) + (gap + rows_html(last, most) if left_out else "")
    return (
        f'<div class="heads">\n<style>\n{STYLE}\n</style>\n<table>\n<thead><tr><th class="site">site</th>{head}</tr>'
        f"</thead>\n<tbody>\n{body}</tbody>\n</table>\n<p>{escape(ABOUT)}</p>\n</div>"
    )


def rows_html(lines: Sequence[Head], most: dict[str, float]) -> str:
    rows, before = [], ""
    for line in lines:
        cells = "".join(
            f'<td style="--heat:{TINT * share(line, name, most):.0f}%">{cell(line, name)}</td>' for name in COLUMNS
        )
        begins = line.site != before
        site = f'<th scope="row">{escape(line.site) if begins else ""}</th>'
        kind = ' class="next"' if begins and before else ""
        rows.append(f"<tr{kind}>{site}<td>{line.head}</td>{cells}</tr>\n")
        before = line.site
    return "".join(rows)
