"""What each head, taken from another run, changes at each position: a table of the strongest, and a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.lens.draw.effect_map import HeadEffect, effect_svg, figures

LISTED = 20  # lines of a table


@dataclass(frozen=True)
class PositionEffect:
    """One head at one position (None: at all): what taking it from the source run changes; None where not computed."""

    site: str
    head: int
    position: int | None
    source_position: int | None
    estimate: float | None = None  # of the change, by the gradient
    score: float | None = None  # really patched
    change: float | None = None


def complete(lines: Sequence[PositionEffect]) -> bool:
    """Was each of them really patched?"""
    return all(line.change is not None for line in lines)


def as_heads(lines: Sequence[PositionEffect]) -> list[HeadEffect]:
    """As a map of heads takes them: a row for each head, a column for each position."""
    exact = complete(lines)
    return [
        HeadEffect(
            line.site if line.position is None else f"{line.site} {line.head}",
            line.head if line.position is None else line.position,
            line.score or 0.0,
            (line.change if exact else line.estimate) or 0.0,
        )
        for line in lines
    ]


def patch_svg(baseline: float, part: str, lines: Sequence[PositionEffect], title: str = "") -> str:
    """A picture that stands alone."""
    what = "changes" if complete(lines) else "is estimated to change"
    heading = title or f"What the {part} of each head, taken from the other run, {what}"
    return effect_svg(baseline, as_heads(lines), heading, "score of this run")


def patch_view(baseline: float, part: str, lines: Sequence[PositionEffect]) -> RenderableType:
    """For a terminal: the strongest first, those really patched before estimates."""

    def strength(line: PositionEffect) -> tuple[bool, float]:
        change = line.estimate if line.change is None else line.change
        return line.change is None, -abs(change or 0.0)

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    for name in ("site", "head", "position", "estimate", "change"):
        table.add_column(Text(name), justify="left" if name == "site" else "right", no_wrap=True)
    shown = sorted(lines, key=strength)[:LISTED]
    text = figures([*(line.estimate for line in lines), *(line.change for line in lines)])
    for line in shown:
        numbers = ["" if number is None else text[number] for number in (line.estimate, line.change)]
        table.add_row(Text(line.site), str(line.head), position_text(line), *numbers)
    heading = Text(f"what the {part} of a head changes, taken from the other run", style="bold")
    rest = [Text(f"and {len(lines) - LISTED} more", style="dim")] if len(lines) > LISTED else []
    return Group(heading, Text(f"score of this run: {baseline:.4g}", style="dim"), table, *rest)


def position_text(line: PositionEffect) -> str:
    if line.position is None:
        return "all"
    same = line.position == line.source_position
    return f"{line.position}" if same else f"{line.position} from {line.source_position}"
