"""A head's map in a terminal: coloured cells with the weights in them, or shades where there are no colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from regard.drawing.colours import colour, hexadecimal, ink_on
from regard.lens.draw.heat import Heat, View, heats, largest, shares, sides_in_words, top_keys, topmost, truth
from regard.lens.draw.heat_labels import cut, label
from regard.lens.recording.forward import Call
from regard.text.characters import characters

BESIDE = 16  # characters of a row's name at most
STACK = 10  # of a column's name when it is written downwards
READABLE = 5  # characters that a column's name must keep to stand as it is written
NUMBER = 4  # characters that a cell needs for its weight in percent
TELLING = 0.02  # the largest weight from which on percentages tell something
LINES = 64  # rows of a map at most
SHADES = " ░▒▓█"
STEPS = 20  # colours in the legend
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


@dataclass(frozen=True)
class HeatView:
    """One head, fitted to the width of the console: pooled, and said so, where there are too many tokens."""

    call: Call
    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        beside = max((cell_len(name) for name in self.names()), default=1)
        left = min(beside, BESIDE) + 1
        room = max(options.max_width - left, 2)
        heat = heats(self.call, self.view, (LINES, room // 2))[0]
        if heat.pooled:
            left = min(max(map(cell_len, heat.rows)), BESIDE) + 1
            heat = heats(self.call, self.view, (LINES, max((options.max_width - left) // 2, 1)))[0]
        columns = columns_for(heat.columns, options.max_width - left)
        yield Text.assemble((heat.name, "bold"), (f"   {sides_in_words(self.call, heat.site, self.view.row)}", "dim"))
        yield from header(heat, columns, left)
        numbered = columns.numbered and heat.most >= TELLING
        yield from body(heat, columns, left, numbered, coloured(console))
        yield Text("")
        yield legend(heat, numbered, coloured(console))
        yield verdict([heat])

    def names(self) -> list[str]:
        assert self.view.site is not None
        first, last = self.view.rows or (0, None)
        beside, _ = self.call.labels(self.view.site, self.view.batch, self.view.row)
        return [label(token) for token in beside[first:last]]


def header(heat: Heat, columns: Columns, left: int) -> RenderResult:
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


def body(heat: Heat, columns: Columns, left: int, numbered: bool, colours: bool) -> RenderResult:
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


def legend(heat: Heat, numbered: bool, colours: bool) -> Text:
    """What a cell stands for, and the scale."""
    line = Text()
    if colours:
        line.append("0 ", style="dim")
        for step in range(STEPS):
            line.append(" ", style=style(step / (STEPS - 1)))
        line.append(f" {topmost([heat])}   ", style="dim")
    elif not numbered:
        steps = f"{100 * FAINT:.0f}, 25, 50 and 75"
        line.append(f"{' '.join(SHADES[1:])} from {steps} % of {largest([heat]):.3g}   ", style="dim")
    if numbered:
        line.append("weights in percent, · is under 0.5   ", style="dim")
    if heat.pooled:
        line.append(
            f"a cell is {heat.cell[0]} x {heat.cell[1]} tokens: the part of a row's attention that its "
            f"{heat.cell[1]} keys get, on average over {heat.cell[0]} rows",
            style="dim",
        )
    return line


def verdict(all_of: Sequence[Heat]) -> Text:
    """The badge."""
    badge = truth(all_of)
    mark = ("✓ ", "bold green") if badge.compared else ("? ", "bold yellow")
    return Text.assemble(mark if badge.true else ("✗ not what the model used: ", "bold red"), (str(badge), "dim"))


def top_view(call: Call, view: View, rows: Sequence[int], count: int) -> Table:
    """For some rows the strongest keys, each with its exact weight."""
    assert view.site is not None
    beside, above = ([label(token) for token in side] for side in call.labels(view.site, view.batch, view.row))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", justify="right", style="dim", no_wrap=True)
    written = view.row == "output" and call.writes(view.site)
    table.add_column("to write" if written else "token", no_wrap=True, style="bold")
    table.add_column(f"looks most at (of {len(above)} keys)", no_wrap=False)
    for row in rows:
        best = Text("   ").join(
            Text.assemble((cut(above[key], BESIDE), ""), (f" {weight:.4f}", "cyan"))
            for key, weight in top_keys(call, view, row, count)
        )
        table.add_row(str(row), cut(beside[row], BESIDE), best)
    return table
