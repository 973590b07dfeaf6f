"""A head's map in a terminal, with a legend and its badge, and the strongest keys of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from regard.attention.tiles import Axis
from regard.drawing.heat_cells import FAINT, SHADES, body, coloured, columns_for, header, style
from regard.drawing.heat_labels import cut, label
from regard.drawing.heat_map import largest, topmost
from regard.lens.draw.heat import HeadMap, View, badge_of, heats, measure_in_words, sides_in_words, top_keys
from regard.lens.recording.forward import ForwardCall

BESIDE = 16  # characters of a row's name at most
TELLING = 0.02  # the largest weight from which on percentages tell something
LINES = 64  # rows of a map at most
STEPS = 20  # colours in the legend


@dataclass(frozen=True)
class HeatView:
    """One head, fitted to the width of the console: pooled, and said so, where there are too many tokens."""

    call: ForwardCall
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
        beside, _ = self.call.labels(self.view.site, self.view.batch, self.view.row)
        rows = Axis.read("rows", self.view.rows, len(beside))
        return [label(token) for token in beside[rows.start : rows.stop]]


def legend(heat: HeadMap, numbered: bool, colours: bool) -> Text:
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
        what = f"{measure_in_words([heat])}, in percent" if heat.norm else "weights in percent"
        line.append(f"{what}, · is under 0.5   ", style="dim")
    elif heat.norm:
        line.append(f"{measure_in_words([heat])}   ", style="dim")
    if heat.pooled:
        line.append(
            f"a cell is {heat.cell[0]} x {heat.cell[1]} tokens: the part of a row's attention that its "
            f"{heat.cell[1]} keys get, on average over {heat.cell[0]} rows",
            style="dim",
        )
    return line


def verdict(maps: Sequence[HeadMap]) -> Text:
    """The badge."""
    badge = badge_of(maps)
    mark = ("✓ ", "bold green") if badge.compared else ("? ", "bold yellow")
    return Text.assemble(mark if badge.true else ("✗ not what the model used: ", "bold red"), (str(badge), "dim"))


def top_view(call: ForwardCall, view: View, rows: Sequence[int], count: int) -> Table:
    """For some rows the strongest keys, each with its exact weight, or with what it brings."""
    assert view.site is not None
    beside, above = ([label(token) for token in side] for side in call.labels(view.site, view.batch, view.row))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("", justify="right", style="dim", no_wrap=True)
    written = view.row == "output" and call.writes(view.site)
    table.add_column("to write" if written else "token", no_wrap=True, style="bold")
    brings = f": weight times {call.map(view.site).norm_symbol}" if view.by == "value" else ""
    table.add_column(f"{'takes most from' if brings else 'looks most at'} (of {len(above)} keys{brings})")
    for row in rows:
        best = Text("   ").join(
            Text.assemble((cut(above[key], BESIDE), ""), (f" {weight:.4f}", "cyan"))
            for key, weight in top_keys(call, view, row, count)
        )
        table.add_row(str(row), cut(beside[row], BESIDE), best)
    return table
