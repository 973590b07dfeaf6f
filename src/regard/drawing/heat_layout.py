"""Maps as a picture, measured but not yet painted: where each panel, name, scale and badge stands, in CSS pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Literal

from rich.cells import cell_len

from regard.drawing.heat_labels import cut
from regard.drawing.heat_map import HeatMap, largest

EDGE = 20
LETTER = 0.58  # how wide a letter is on average, for its size
NAME = 18  # characters of a token's name
SLANT = 52  # degrees by which names above columns rise
GAPPED = 9  # pixels from which on cells stand apart
NAMED = 11  # pixels of a cell from which on small maps have names
SIZES = {"title": 16.0, "head": 12.0, "name": 12.0, "soft": 11.5}
Kind = Literal["title", "head", "name", "soft"]


@dataclass(frozen=True)
class PictureText:
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
    heat: HeatMap

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
    texts: list[PictureText] = field(default_factory=list)
    scale: tuple[int, int, int, int] = (0, 0, 0, 0)  # x, y, width, height
    width: int = 0
    height: int = 0
    badge: str = ""

    def say(self, x: float, y: float, text: str, kind: Kind = "soft", **how: str | bool) -> None:
        self.texts.append(PictureText(x, y, text, kind, **how))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Captions:
    """What a picture says besides the names of rows and columns."""

    title: str
    about: str  # below the title
    scale: str  # at the end of the scale of colours
    badge: str
    each: tuple[str, ...] = ()  # above each map, where they stand below each other; empty strings for nothing


def lay_out(groups: Sequence[Sequence[HeatMap]], captions: Captions) -> Picture:
    """One map large; several large below each other, if each has a caption; else small, a row for every group."""
    maps = [one for group in groups for one in group]
    picture = Picture(captions.title, largest(maps), badge=captions.badge)
    picture.say(EDGE, EDGE + 12, captions.title, "title")
    picture.say(EDGE, EDGE + 30, captions.about)
    if len(maps) == 1:
        bottom = one_map(picture, maps[0], EDGE + 44)
    elif captions.each:
        bottom = below_each_other(picture, maps, captions.each)
    else:
        bottom = small_maps(picture, groups)
    finish(picture, captions.scale, bottom)
    return picture


def below_each_other(picture: Picture, maps: Sequence[HeatMap], abouts: Sequence[str]) -> int:
    """Large panels, each with its name and what it shows; gives where the last ends."""
    y = EDGE + 44
    for about, heat in zip(abouts, maps, strict=True):
        picture.say(EDGE, y + 20, heat.name, "head")
        if about:
            picture.say(EDGE, y + 38, about)
        y = one_map(picture, heat, y + (48 if about else 30)) + 12
    return y


def wide(text: str, size: float) -> float:
    return cell_len(text) * LETTER * size


def one_map(picture: Picture, heat: HeatMap, top: int) -> int:
    """A large panel with the names of its tokens, from some height on; gives where it ends."""
    down, across = heat.cells_RC.shape
    step = max(2, min(30, 640 // max(down, across, 1)))
    beside = max((wide(cut(name, NAME), SIZES["name"]) for name in heat.rows), default=0.0)
    rise = max((wide(cut(name, NAME), SIZES["name"]) for name in heat.columns), default=0.0)
    x = EDGE + math.ceil(beside) + 8
    y = top + math.ceil(rise * math.sin(math.radians(SLANT))) + 10
    panel = Panel(x, y, step, heat)
    put(picture, panel, beside=True, above=True)
    picture.width = max(picture.width, x + panel.width + math.ceil(rise * math.cos(math.radians(SLANT))) + EDGE)
    return y + panel.height


def put(picture: Picture, panel: Panel, *, beside: bool, above: bool) -> None:
    """A panel with the names of its rows and columns; where they would touch, only some of them."""
    picture.panels.append(panel)
    every = max(1, math.ceil((SIZES["name"] + 1) / panel.step))
    if beside:
        for row in range(0, len(panel.heat.rows), every):
            name = panel.heat.rows[row]
            y = panel.y + panel.step * (row + 0.5) + SIZES["name"] * 0.35
            picture.say(panel.x - 7, y, cut(name, NAME), "name", anchor="end", full=name)
    if above:
        for column in range(0, len(panel.heat.columns), every):
            name, x = panel.heat.columns[column], panel.x + panel.step * (column + 0.5) + SIZES["name"] * 0.25
            picture.say(x, panel.y - 6, cut(name, NAME), "name", slanted=True, full=name)


def small_maps(picture: Picture, groups: Sequence[Sequence[HeatMap]]) -> int:
    """A row of maps for every site, or the maps of one site in some rows; gives where the last ends."""
    alone = len(groups) == 1
    rows = [groups[0][start : start + 4] for start in range(0, len(groups[0]), 4)] if alone else groups
    side = 260 if alone else min(150, max(48, 1200 // max(map(len, rows))))
    steps = [max(1, min(14, side // max(some[0].cells_RC.shape))) for some in rows]
    named = alone and steps[0] >= NAMED
    pitch = max(step * some[0].cells_RC.shape[1] for step, some in zip(steps, rows, strict=True))
    y = EDGE + 44
    for number, (step, some) in enumerate(zip(steps, rows, strict=True)):
        y += 20
        if not alone:
            picture.say(EDGE, y, some[0].group, "head")
            y += 6
        y = row_of_maps(picture, some, y, RowLayout(step, max(pitch, 52) + 18, named, named and number == 0))
    return y


@dataclass(frozen=True)
class RowLayout:
    """How maps stand side by side: pixels of a cell, from one map to the next, and whether tokens are named."""

    step: int
    pitch: int
    beside: bool
    above: bool


def row_of_maps(picture: Picture, some: Sequence[HeatMap], y: int, row: RowLayout) -> int:
    """Maps side by side, the names of their tokens at the outer sides; gives where they end."""
    names = some[0].columns if row.above else []
    rise = max((wide(cut(name, NAME), SIZES["name"]) for name in names), default=0.0)
    lift = math.ceil(rise * math.sin(math.radians(SLANT))) + 8 if row.above else 0
    beside = max((wide(cut(name, NAME), SIZES["name"]) for name in some[0].rows), default=0.0)
    x = EDGE + (math.ceil(beside) + 8 if row.beside else 0)
    y += 14 + lift
    for number, heat in enumerate(some):
        picture.say(x, y - 6 - lift, heat.label, "soft")
        put(picture, Panel(x, y, row.step, heat), beside=row.beside and number == 0, above=row.above)
        x += row.pitch
    picture.width = max(picture.width, x + math.ceil(rise * math.cos(math.radians(SLANT))) - 18 + EDGE)
    return y + picture.panels[-1].height


def finish(picture: Picture, scale: str, bottom: int) -> None:
    """The scale and the badge below, and the size of the whole."""
    picture.width = max(picture.width, 460, math.ceil(wide(picture.title, SIZES["title"])) + 2 * EDGE)
    picture.scale = (EDGE + 16, bottom + 22, 160, 10)
    y = bottom + 31
    picture.say(EDGE, y, "0")
    picture.say(EDGE + 16 + 160 + 8, y, scale)
    y += 12
    for line in wrap(picture.badge, max(40, int((picture.width - 2 * EDGE) / (LETTER * 10.8)))):
        y += 16
        picture.say(EDGE, y, line)
    picture.height = y + EDGE - 4
