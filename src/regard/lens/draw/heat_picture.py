"""Maps as a picture, measured but not yet painted: where each panel, name, scale and badge stands, in CSS pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap
from typing import Literal

from rich.cells import cell_len

from regard.lens.draw.heat import Heat, View, heats, largest, sides_in_words, topmost, truth
from regard.lens.draw.heat_labels import cut
from regard.lens.recording.forward import Call

CELLS = 1 << 16  # of a whole picture: one map of 256 x 256, or many smaller ones; beyond, cells are pooled
EDGE = 20
LETTER = 0.58  # how wide a letter is on average, for its size
NAME = 18  # characters of a token's name
SLANT = 52  # degrees by which names above columns rise
GAPPED = 9  # pixels from which on cells stand apart
NAMED = 11  # pixels of a cell from which on small maps have names
SIZES = {"title": 16.0, "head": 12.0, "name": 12.0, "soft": 11.5}
Kind = Literal["title", "head", "name", "soft"]


@dataclass(frozen=True)
class Words:
    """Some text: where its baseline begins, or ends, or has its middle."""

    x: float
    y: float
    text: str
    kind: Kind
    anchor: Literal["start", "middle", "end"] = "start"
    slanted: bool = False
    full: str = ""  # the whole of what was cut


@dataclass(frozen=True)
class Panel:
    """One map, its upper left corner and how many pixels a cell has."""

    x: int
    y: int
    step: int
    heat: Heat

    @property
    def width(self) -> int:
        return self.step * self.heat.cells_RC.shape[1]

    @property
    def height(self) -> int:
        return self.step * self.heat.cells_RC.shape[0]


@dataclass
class Picture:
    """What is to be painted, in the order it was put there; `scale` is the place of the colour scale."""

    title: str
    most: float
    panels: list[Panel] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)
    scale: tuple[int, int, int, int] = (0, 0, 0, 0)  # x, y, width, height
    width: int = 0
    height: int = 0
    badge: str = ""

    def say(self, x: float, y: float, text: str, kind: Kind = "soft", **how: str | bool) -> None:
        self.words.append(Words(x, y, text, kind, **how))  # type: ignore[arg-type]


def picture(call: Call, *views: View) -> Picture:
    """One head; without a head all of a site; without a site all there are. Several views stand below each other."""
    asked = [replace(view, site=site) for view in views for site in ([view.site] if view.site else call.sites)]
    count = sum(1 if view.head is not None else len(call.map(str(view.site)).heads) for view in asked)
    side = max(4, math.isqrt(CELLS // max(count, 1)))
    found = [heats(call, view, (side, side)) for view in asked]
    maps = [heat for some in found for heat in some]
    abouts = [sides_in_words(call, str(view.site), view.row) for view in asked]
    alike = len(set(abouts)) == 1
    if len(maps) == 1:
        title = maps[0].name
    elif len(asked) == 1:
        title = f"{asked[0].site}, {len(maps)} heads"
    else:
        title = f"{len(asked)} sites, {len(maps)} heads"
    made = Picture(title, largest(maps))
    made.say(EDGE, EDGE + 12, title, "title")
    made.say(EDGE, EDGE + 30, abouts[0] if alike else several_in_words(call, asked))
    if len(maps) == 1:
        return finish(made, maps, one_map(made, maps[0], EDGE + 44))
    named = len(views) > 1 and len(maps) == len(views)
    if not named:
        return finish(made, maps, small_maps(made, found))
    return finish(made, maps, below_each_other(made, maps, [""] * len(maps) if alike else abouts))


def several_in_words(call: Call, views: Sequence[View]) -> str:
    """What the rows of different sites have in common."""
    written = views[0].row == "output" and any(call.writes(str(view.site)) for view in views)
    return f"each row of a map: where a token looks{'; in a decoder, where it looks to write it' if written else ''}"


def below_each_other(made: Picture, maps: Sequence[Heat], abouts: Sequence[str]) -> int:
    """Large panels, each with its name and what it shows; gives where the last ends."""
    y = EDGE + 44
    for about, heat in zip(abouts, maps, strict=True):
        made.say(EDGE, y + 20, heat.name, "head")
        if about:
            made.say(EDGE, y + 38, about)
        y = one_map(made, heat, y + (48 if about else 30)) + 12
    return y


def wide(text: str, size: float) -> float:
    return cell_len(text) * LETTER * size


def one_map(made: Picture, heat: Heat, top: int) -> int:
    """A large panel with the names of its tokens, from some height on; gives where it ends."""
    down, across = heat.cells_RC.shape
    step = max(2, min(30, 640 // max(down, across, 1)))
    beside = max((wide(cut(name, NAME), SIZES["name"]) for name in heat.rows), default=0.0)
    rise = max((wide(cut(name, NAME), SIZES["name"]) for name in heat.columns), default=0.0)
    x = EDGE + math.ceil(beside) + 8
    y = top + math.ceil(rise * math.sin(math.radians(SLANT))) + 10
    panel = Panel(x, y, step, heat)
    put(made, panel, beside=True, above=True)
    made.width = max(made.width, x + panel.width + math.ceil(rise * math.cos(math.radians(SLANT))) + EDGE)
    return y + panel.height


def put(made: Picture, panel: Panel, *, beside: bool, above: bool) -> None:
    """A panel with the names of its rows and columns; where they would touch, only some of them."""
    made.panels.append(panel)
    every = max(1, math.ceil((SIZES["name"] + 1) / panel.step))
    if beside:
        for row in range(0, len(panel.heat.rows), every):
            name = panel.heat.rows[row]
            y = panel.y + panel.step * (row + 0.5) + SIZES["name"] * 0.35
            made.say(panel.x - 7, y, cut(name, NAME), "name", anchor="end", full=name)
    if above:
        for column in range(0, len(panel.heat.columns), every):
            name, x = panel.heat.columns[column], panel.x + panel.step * (column + 0.5) + SIZES["name"] * 0.25
            made.say(x, panel.y - 6, cut(name, NAME), "name", slanted=True, full=name)


def small_maps(made: Picture, found: Sequence[Sequence[Heat]]) -> int:
    """A row of maps for every site, or the maps of one site in some rows; gives where the last ends."""
    alone = len(found) == 1
    rows = [found[0][start : start + 4] for start in range(0, len(found[0]), 4)] if alone else found
    side = 260 if alone else min(150, max(48, 1200 // max(map(len, rows))))
    steps = [max(1, min(14, side // max(some[0].cells_RC.shape))) for some in rows]
    named = alone and steps[0] >= NAMED
    pitch = max(step * some[0].cells_RC.shape[1] for step, some in zip(steps, rows, strict=True))
    y = EDGE + 44
    for number, (step, some) in enumerate(zip(steps, rows, strict=True)):
        y += 20
        if not alone:
            made.say(EDGE, y, some[0].site, "head")
            y += 6
        y = row_of_maps(made, some, y, Row(step, max(pitch, 52) + 18, named, named and number == 0))
    return y


@dataclass(frozen=True)
class Row:
    """How maps stand side by side: pixels of a cell, from one map to the next, and whether tokens are named."""

    step: int
    pitch: int
    beside: bool
    above: bool


def row_of_maps(made: Picture, some: Sequence[Heat], y: int, row: Row) -> int:
    """Maps side by side, the names of their tokens at the outer sides; gives where they end."""
    names = some[0].columns if row.above else []
    rise = max((wide(cut(name, NAME), SIZES["name"]) for name in names), default=0.0)
    lift = math.ceil(rise * math.sin(math.radians(SLANT))) + 8 if row.above else 0
    beside = max((wide(cut(name, NAME), SIZES["name"]) for name in some[0].rows), default=0.0)
    x = EDGE + (math.ceil(beside) + 8 if row.beside else 0)
    y += 14 + lift
    for number, heat in enumerate(some):
        made.say(x, y - 6 - lift, f"head {heat.head}", "soft")
        put(made, Panel(x, y, row.step, heat), beside=row.beside and number == 0, above=row.above)
        x += row.pitch
    made.width = max(made.width, x + math.ceil(rise * math.cos(math.radians(SLANT))) - 18 + EDGE)
    return y + made.panels[-1].height


def finish(made: Picture, maps: Sequence[Heat], bottom: int) -> Picture:
    """The scale and the badge below, and the size of the whole."""
    badge = truth(maps)
    verdict = "NOT what the model used" if not badge.true else "true to the model" if badge.compared else "not compared"
    made.badge = f"{verdict}: {badge}"
    made.width = max(made.width, 460, math.ceil(wide(made.title, SIZES["title"])) + 2 * EDGE)
    made.scale = (EDGE + 16, bottom + 22, 160, 10)
    y = bottom + 31
    made.say(EDGE, y, "0")
    meaning = "part of a row's attention" if any(heat.pooled for heat in maps) else "weight"
    made.say(EDGE + 16 + 160 + 8, y, f"{topmost(maps)}: {meaning}")
    y += 12
    for line in wrap(made.badge, max(40, int((made.width - 2 * EDGE) / (LETTER * 10.8)))):
        y += 16
        made.say(EDGE, y, line)
    made.height = y + EDGE - 4
    return made
