"""What silencing each head does, as a heat map: sites down, heads across."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

WIDE, HIGH, LETTER, EDGE = 64, 26, 7.2, 14  # of a cell, of a letter beside it, around all
STRONGEST = 78  # percent of the tint in the strongest cell: the number on it stays readable
STYLE = """.effect { --ink: #1c1a17; --soft: #6b655c; --ground: #ffffff; --cell: #f4f0e8;
  --warm: #ea7317; --cold: #2b7bba;
  font: 13px/1 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-variant-numeric: tabular-nums; }
@media (prefers-color-scheme: dark) { .effect { --ink: #ece7de; --soft: #a59d90; --ground: #221f1b; --cell: #2e2a24;
  --warm: #f08a35; --cold: #4d9fdd; } }
.effect .ground { fill: var(--ground); } .effect .cell { fill: var(--cell); }
.effect text { fill: var(--ink); } .effect .soft { fill: var(--soft); } .effect .title { font-weight: 600; }
.effect .down { fill: var(--warm); } .effect .up { fill: var(--cold); }"""


@dataclass(frozen=True)
class HeadEffect:
    """One head: the score without it, and what its silence changed."""

    site: str
    head: int
    score: float
    change: float


def rows_of(lines: Sequence[HeadEffect]) -> dict[str, dict[int, float]]:
    """What changed, by site and head."""
    rows: dict[str, dict[int, float]] = {}
    for line in lines:
        rows.setdefault(line.site, {})[line.head] = line.change
    return rows


def figures(changes: Iterable[float | None]) -> dict[float, str]:
    """Changes as text, all with as many digits as the largest needs."""
    numbers = {change for change in changes if change is not None}
    largest = max(map(abs, numbers), default=0.0)
    digits = 1 if largest >= 10 else 2 if largest >= 0.1 or largest == 0 else 1 - math.floor(math.log10(largest))
    return {change: signed(change, digits) for change in numbers}


def signed(change: float, digits: int) -> str:
    """With its sign, unless it is nothing."""
    return f"{change:+.{digits}f}" if round(change, digits) else f"{0:.{digits}f}"


def share(change: float, lines: Sequence[HeadEffect]) -> float:
    """Of the largest change, between -1 and 1."""
    largest = max(abs(line.change) for line in lines)
    return change / largest if largest else 0.0


def effect_view(baseline: float, lines: Sequence[HeadEffect], title: str = "") -> RenderableType:
    """For a terminal."""
    rows, text = rows_of(lines), figures(line.change for line in lines)
    heads = sorted({line.head for line in lines})
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column(Text("without head"), no_wrap=True)
    for head in heads:
        table.add_column(Text(str(head)), justify="right", no_wrap=True)
    for site, changes in rows.items():
        cells = [
            Text(text[changes[head]], style=tint(share(changes[head], lines))) if head in changes else Text("")
            for head in heads
        ]
        table.add_row(Text(site), *cells)
    heading = Text(title or "what the silence of each head changes", style="bold")
    return Group(heading, Text(f"score with all heads: {baseline:.4g}", style="dim"), table)


def tint(part: float) -> Style:
    """Orange for what is lost, blue for what is gained."""
    goal = (235, 125, 30) if part < 0 else (60, 140, 210)
    if abs(part) < 0.05:
        return Style()
    ground = tuple(round(20 + (colour - 20) * abs(part)) for colour in goal)
    return Style(color="black" if abs(part) > 0.45 else "white", bgcolor="#{:02x}{:02x}{:02x}".format(*ground))


def effect_svg(
    baseline: float, lines: Sequence[HeadEffect], title: str = "", caption: str = "score with all heads"
) -> str:
    """A picture that stands alone, in light and dark."""
    rows, text = rows_of(lines), figures(line.change for line in lines)
    heads = sorted({line.head for line in lines})
    left, top = EDGE + LETTER * max(len(site) for site in rows) + 12, 76
    heading = title or "What the silence of each head changes"
    wide = max(left + WIDE * len(heads), 12 + 8 * len(heading), 300) + EDGE
    high = top + HIGH * len(rows) + EDGE
    parts = [
        f'<text x="{EDGE}" y="24" class="title">{escape(heading)}</text>',
        f'<text x="{EDGE}" y="44" class="soft">{escape(caption)}: {baseline:.4g}</text>',
        *(f'<text x="{left + WIDE * (n + 0.5):.0f}" y="{top - 6}" class="soft" text-anchor="middle">{head}</text>'
          for n, head in enumerate(heads)),
    ]  # fmt: skip
    for n, (site, changes) in enumerate(rows.items()):
        y = top + HIGH * n
        parts.append(f'<text x="{left - 10:.0f}" y="{y + 17}" text-anchor="end">{escape(site)}</text>')
        for head, change in changes.items():
            x = left + WIDE * heads.index(head)
            parts += cell(x, y, share(change, lines), text[change], f"{site} {head}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="effect" width="{wide:.0f}" height="{high}" '
        f'viewBox="0 0 {wide:.0f} {high}" role="img"><style>{STYLE}</style>'
        f'<rect class="ground" width="100%" height="100%"/>{"".join(parts)}</svg>\n'
    )


def cell(x: float, y: float, part: float, text: str, name: str) -> list[str]:
    box = f'x="{x + 1:.0f}" y="{y + 1}" width="{WIDE - 2}" height="{HIGH - 2}" rx="4"'
    strength = abs(part) * STRONGEST / 100
    return [
        f"<g><title>{escape(name)}: {text}</title>",
        f'<rect class="cell" {box}/>',
        f'<rect class="{"down" if part < 0 else "up"}" opacity="{strength:.2f}" {box}/>',
        f'<text x="{x + WIDE / 2:.0f}" y="{y + 17}" text-anchor="middle">{text}</text></g>',
    ]
