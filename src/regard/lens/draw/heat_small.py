"""Many heads at once in a terminal, small: whole layers at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.table import Table
from rich.text import Text

from regard.drawing.colours import colour, hexadecimal
from regard.lens.draw.heat import Heat, View, heats, largest, shares, sides_in_words, topmost
from regard.lens.draw.heat_terminal import coloured, shade, verdict
from regard.lens.recording.forward import Call

SIDE = 40  # cells of a small map, down and across, at most


@dataclass(frozen=True)
class SmallMaps:
    """Many heads at once, small: two rows to a line where there are colours."""

    call: Call
    sites: Sequence[str]
    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        most_cells = (SIDE, max(min(SIDE, options.max_width - 2), 2))
        shown = [heats(self.call, replace(self.view, site=site), most_cells) for site in self.sites]
        maps = [heat for found in shown for heat in found]
        most = largest(maps)
        for found in shown:
            yield Text.assemble(
                (found[0].site, "bold"), (f"   {sides_in_words(self.call, found[0].site, self.view.row)}", "dim")
            )
            across = max(1, options.max_width // (len(found[0].columns) + 2))
            for first in range(0, len(found), across):
                yield side_by_side(found[first : first + across], most, coloured(console))
        yield Text(f"from 0 to {topmost(maps)}", style="dim")
        yield verdict(maps)


def side_by_side(some: Sequence[Heat], most: float, colours: bool) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_row(*(Text(f"head {heat.head}", style="dim", no_wrap=True, overflow="crop") for heat in some))
    table.add_row(*(small(heat, most, colours) for heat in some))
    return table


def small(heat: Heat, most: float, colours: bool) -> Text:
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
