"""A picture of maps as one standalone SVG: crisp at any size, on light and on dark ground, with names on hover."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files

from regard.drawing.colours import colour, hexadecimal
from regard.drawing.heat_layout import GAPPED, SIZES, SLANT, Panel, Picture, PictureText
from regard.drawing.heat_map import shares

LEVELS = 64  # of colour: a weight is shown to within 1 part in 126 of the largest


def svg(picture: Picture) -> str:
    """The document."""
    panels = "\n".join(panel_svg(panel, picture.most) for panel in picture.panels)
    texts = "\n".join(map(text_svg, picture.texts))
    size = f'width="{picture.width}" height="{picture.height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="heat" {size} '
        f'viewBox="0 0 {picture.width} {picture.height}" role="img">\n'
        f"<title>{escape(picture.title)}</title>\n<desc>{escape(picture.badge)}</desc>\n"
        f'<style>\n{style()}</style>\n<rect class="ground" {size}/>\n{panels}\n{scale(picture)}\n{texts}\n</svg>\n'
    )


def style() -> str:
    """Colours by class, each for light and for dark."""
    own = files("regard.drawing").joinpath("heat_svg.css").read_text(encoding="utf-8")
    light, dark = (
        "".join(f".heat .l{level} {{ fill: {tint(level, dark=dark)}; }}\n" for level in range(LEVELS))
        for dark in (False, True)
    )
    return f"{own}{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def tint(level: int, *, dark: bool) -> str:
    return hexadecimal(colour(level / (LEVELS - 1), dark=dark))


def panel_svg(panel: Panel, most: float) -> str:
    """All cells of one colour are one path."""
    levels = (shares(panel.heat, most) * (LEVELS - 1)).round().int().tolist()
    paths: dict[int, list[str]] = {}
    for row, line in enumerate(levels):
        for column, run, level in runs(line, joined=panel.step < GAPPED):
            paths.setdefault(level, []).append(cell(panel, row, column, run))
    drawn = "".join(f'<path class="l{level}" d="{"".join(parts)}"/>' for level, parts in sorted(paths.items()) if level)
    frame = f'width="{panel.width}" height="{panel.height}"'
    return (
        f'<g transform="translate({panel.x} {panel.y})"><title>{escape(panel.heat.name)}</title>'
        f'<rect class="l0" {frame}/>{drawn}<rect class="frame" x="-0.5" y="-0.5" '
        f'width="{panel.width + 1}" height="{panel.height + 1}"/></g>'
    )


def runs(line: list[int], *, joined: bool) -> Iterator[tuple[int, int, int]]:
    """(column, how many, level): neighbours of one level together, where cells may touch."""
    start = 0
    for column in range(1, len(line) + 1):
        if column == len(line) or not joined or line[column] != line[start]:
            yield start, column - start, line[start]
            start = column


def cell(panel: Panel, row: int, column: int, run: int) -> str:
    step, gap = panel.step, 1 if panel.step >= GAPPED else 0
    return f"M{column * step} {row * step}h{run * step - gap}v{step - gap}h-{run * step - gap}z"


def scale(picture: Picture) -> str:
    x, y, width, height = picture.scale
    part = width / LEVELS
    parts = "".join(
        f'<rect class="l{level}" x="{x + level * part:g}" y="{y}" width="{part + 0.4:g}" height="{height}"/>'
        for level in range(LEVELS)
    )
    return f'<g>{parts}<rect class="frame" x="{x - 0.5}" y="{y - 0.5}" width="{width + 1}" height="{height + 1}"/></g>'


def text_svg(text: PictureText) -> str:
    place = f'x="{text.x:g}" y="{text.y:g}"'
    if text.slanted:
        place = f'transform="translate({text.x:g} {text.y:g}) rotate(-{SLANT})"'
    hover = f"<title>{escape(text.full)}</title>" if text.full and text.full != text.text else ""
    anchor = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    size = f'font-size="{SIZES[text.kind]:g}"'
    return f'<text class="{text.kind}" {place}{anchor} {size}>{escape(text.text)}{hover}</text>'
