"""A heat map in a terminal's cells: coloured, with numbers in them, or shades where there are no colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from regard.drawing.colours import colour, hexadecimal, ink_on
from regard.drawing.heat_labels import cut
from regard.drawing.heat_map import HeatMap, largest, shares
from regard.text.characters import characters

STACK = 10  # characters of a column's name when it is written downwards
READABLE = 5  # characters that a column's name must keep to stand as it is written
NUMBER = 4  # characters that a cell needs for its share in percent
SHADES = " ░▒▓█"
FAINT = 0.02  # of the largest: not shaded below


def coloured(console: Console) -> bool:
    """Can the console show a scale of colours?"""
    return not console.no_color and console.color_system in ("truecolor", "256", "windows")


@dataclass(frozen=True)
class Columns:
    """How the columns of a map stand: how wide each is, and whether their names are written downwards."""

    widths: list[int]
    upright: bool

    @property
    def numbered(self) -> bool:
        return min(self.widths, default=0) >= NUMBER - 1


def columns_for(names: Sequence[str], room: int) -> Columns:
    """The most readable way that fits."""
    longest = max(map(cell_len, names), default=1)
    for most in range(longest, min(longest, READABLE) - 1, -1):
        widths = [max(NUMBER, min(cell_len(name), most) + 1) for name in names]
        if sum(widths) <= room:
            return Columns(widths, upright=False)
    width = next((width for width in (NUMBER, NUMBER - 1) if width * len(names) <= room), 2)
    return Columns([width] * len(names), upright=True)


def header(heat: HeatMap, columns: Columns, left: int) -> RenderResult:
    """The names of the columns, as they are written or letter below letter."""
    if not columns.upright:
        line = Text(" " * left, no_wrap=True, overflow="crop")
        for name, width in zip(heat.columns, columns.widths, strict=True):
            line.append(fitted(name, width - 1).center(width) if width <= NUMBER else fitted(name, width - 1) + " ")
        yield line
        return
    names = [name.partition(" ")[0] if heat.cell[1] > 1 else cut(name, STACK) for name in heat.columns]
    shown = [list(characters(name)) for name in names]
    tall = max(map(len, shown), default=0)
    for place in range(tall):
        line = Text(" " * left, no_wrap=True, overflow="crop", style="dim")
        for letters, width in zip(shown, columns.widths, strict=True):
            letter = letters[place - tall] if tall - place <= len(letters) else ""
            line.append(set_cell_size(f"{letter:^{width}}", width))
        yield line


def body(heat: HeatMap, columns: Columns, left: int, numbered: bool, colours: bool) -> RenderResult:
    strengths = shares(heat, largest([heat])).tolist()
    for name, cells, tints in zip(heat.rows, heat.cells_RC.tolist(), strengths, strict=True):
        line = Text(fitted(name, left - 1) + " ", no_wrap=True, overflow="crop")
        for weight, tint, width in zip(cells, tints, columns.widths, strict=True):
            words = percent(weight) if numbered else "" if colours else shade(tint) * 2
            line.append(words.center(width), style=style(tint) if colours else "")
        yield line


def fitted(name: str, width: int) -> str:
    """Cut to a width, or filled up to it."""
    if cell_len(name) <= width:
        return set_cell_size(name, width)
    return set_cell_size(set_cell_size(name, max(width - 1, 0)).rstrip() + "…", width)


def percent(weight: float) -> str:
    """Nothing for what may not be looked at, a dot for what rounds to nothing."""
    return "" if weight == 0 else f"{100 * weight:.0f}" if weight >= 0.005 else "·"


def shade(share: float) -> str:
    return " " if share < FAINT else SHADES[min(int(share * 4) + 1, 4)]


def style(share: float) -> Style:
    ground = colour(round(share, 3), dark=True)
    return Style(color=ink_on(ground), bgcolor=hexadecimal(ground))


def side_by_side(maps: Sequence[HeatMap], most: float, colours: bool) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row(*(Text(heat.label, style="dim", no_wrap=True, overflow="crop") for heat in maps))
    table.add_row(*(small(heat, most, colours) for heat in maps))
    return table


def small(heat: HeatMap, most: float, colours: bool) -> Text:
    tints = shares(heat, most).tolist()
    if not colours:
        return Text("\n".join("".join(map(shade, row)) for row in tints) + "\n", no_wrap=True)
    text = Text(no_wrap=True)
    nothing = [None] * len(heat.columns)
    for upper, lower in zip(tints[::2], [*tints[1::2], *([nothing] * (len(tints) % 2))], strict=True):
        for above, below in zip(upper, lower, strict=True):
            ground = None if below is None else hexadecimal(colour(round(below, 3), dark=True))
            text.append("▀", Style(color=hexadecimal(colour(round(above, 3), dark=True)), bgcolor=ground))
        text.append("\n")
    return text
