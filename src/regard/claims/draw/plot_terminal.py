"""A plot made of letters: lines as dots on a canvas, bars with whiskers."""

from __future__ import annotations

from itertools import pairwise

from rich.console import Group, RenderableType
from rich.text import Text

from regard.claims.draw.scales import Scale, across, along, up
from regard.claims.draw.words import estimate_words
from regard.claims.measurement import BarPlot, LinePlot

WIDE, HIGH = 60, 14  # letters of a canvas
BAR = 40  # letters of the longest bar
LETTERS, COLOURS = "●■▲◆○□△◇", ("blue", "dark_orange", "green", "magenta", "red", "cyan")


def plot_view(plot: LinePlot | BarPlot) -> RenderableType:
    return lines_view(plot) if isinstance(plot, LinePlot) else bars_view(plot)


def lines_view(plot: LinePlot) -> RenderableType:
    """Each series has its letter; dots lead from one to the next."""
    canvas: list[list[tuple[str, str]]] = [[(" ", "")] * (WIDE + 1) for _ in range(HIGH + 1)]
    wide, high = across(plot), up(plot)
    for number, series in enumerate(plot.series):
        colour = COLOURS[number % len(COLOURS)]
        cells = [
            (round(wide.share(x) * WIDE), round((1 - high.share(one.value)) * HIGH)) for x, one in sorted(series.points)
        ]
        for start, end in pairwise(cells):
            for cell in between(start, end):
                if canvas[cell[1]][cell[0]][0] == " ":
                    canvas[cell[1]][cell[0]] = ("·", colour)
        for x, y in cells:
            canvas[y][x] = (LETTERS[number % len(LETTERS)], f"bold {colour}")
    return Group(
        Text(plot.title, style="bold"),
        Text(plot.y_name, style="dim"),
        *framed(canvas, high),
        below(plot, wide),
        legend(plot),
    )


def between(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """The cells of a straight line."""
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    return [
        (round(start[0] + (end[0] - start[0]) * at / steps), round(start[1] + (end[1] - start[1]) * at / steps))
        for at in range(steps + 1)
    ]


def framed(canvas: list[list[tuple[str, str]]], high: Scale) -> list[Text]:
    """The canvas with its ticks at the left."""
    words = {round((1 - high.share(value)) * HIGH): text for value, text in high.ticks}
    room = max(map(len, words.values()), default=1)
    return [
        Text.assemble((f"{words.get(number, ''):>{room}} ", "dim"), ("┤" if number in words else "│", "dim"), *row)
        for number, row in enumerate(canvas)
    ]


def below(plot: LinePlot, wide: Scale) -> Text:
    """The numbers across, each under its place; one that would touch the last is left out."""
    room = max((len(text) for _, text in up(plot).ticks), default=1) + 2
    line = [" "] * (room + WIDE + 12)
    end = 0
    for value, text in wide.ticks:
        begin = room + round(wide.share(value) * WIDE) - len(text) // 2
        if begin > end:
            line[begin : begin + len(text)] = text
            end = begin + len(text)
    return Text("".join(line).rstrip() + f"   {plot.x_name}", style="dim")


def legend(plot: LinePlot) -> Text:
    parts: list[tuple[str, str]] = []
    for number, series in enumerate(plot.series):
        parts += [(f"{LETTERS[number % len(LETTERS)]} ", COLOURS[number % len(COLOURS)]), (f"{series.name}   ", "")]
    return Text.assemble("  ", *parts)


def bars_view(plot: BarPlot) -> RenderableType:
    """A bar a line, its number behind it; the mark is a thin stroke through all of them."""
    scale = along(plot)
    room = max((len(name) for name, _ in plot.bars), default=0)
    mark = round(scale.share(plot.mark[1]) * BAR) if plot.mark else None
    zero = round(scale.share(0.0) * BAR)
    lines = [Text(plot.title, style="bold"), Text(plot.y_name, style="dim")]
    for name, one in plot.bars:
        end = round(scale.share(one.value) * BAR)
        cells = ["█" if min(zero, end) <= place < max(zero, end) else " " for place in range(BAR + 1)]
        for place in range(round(scale.share(one.low) * BAR), round(scale.share(one.high) * BAR) + 1):
            if not one.exact and cells[place] == " ":
                cells[place] = "─"
        if mark is not None and cells[mark] != "█":
            cells[mark] = "┊"
        lines.append(Text.assemble(f"  {name:<{room}} ", ("".join(cells), COLOURS[0]), f" {estimate_words(one)}"))
    if plot.mark:
        lines.append(Text(f"  {'':<{room}} {'':<{mark or 0}}┊ {plot.mark[0]}", style="dim"))
    return Group(*lines)
