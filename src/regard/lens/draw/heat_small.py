"""Many heads at once in a terminal, small: whole layers at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from regard.drawing.heat_cells import coloured, side_by_side
from regard.drawing.heat_map import largest, topmost
from regard.lens.draw.heat import View, heats, measure_in_words, sides_in_words
from regard.lens.draw.heat_terminal import verdict
from regard.lens.recording.forward import ForwardCall

SIDE = 40  # cells of a small map, down and across, at most


@dataclass(frozen=True)
class SmallMaps:
    """Many heads at once, small: two rows to a line where there are colours."""

    call: ForwardCall
    sites: Sequence[str]
    view: View

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        most_cells = (SIDE, max(min(SIDE, options.max_width - 2), 2))
        shown = [heats(self.call, replace(self.view, site=site), most_cells) for site in self.sites]
        maps = [heat for group in shown for heat in group]
        most = largest(maps)
        for group in shown:
            yield Text.assemble(
                (group[0].site, "bold"), (f"   {sides_in_words(self.call, group[0].site, self.view.row)}", "dim")
            )
            across = max(1, options.max_width // (len(group[0].columns) + 2))
            for first in range(0, len(group), across):
                yield side_by_side(group[first : first + across], most, coloured(console))
        measure = f": {measure_in_words(maps)}" if self.view.by == "value" else ""
        yield Text(f"from 0 to {topmost(maps)}{measure}", style="dim")
        yield verdict(maps)
