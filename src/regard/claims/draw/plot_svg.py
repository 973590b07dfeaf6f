"""A plot as SVG: lines with whiskers and their names at the ends, or bars; light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files

from regard.claims.draw.scales import Scale, across, along, up
from regard.claims.draw.words import estimate_words
from regard.claims.estimates import Estimate
from regard.claims.measurement import BarPlot, LinePlot, Series
from regard.drawing.panels import apart

KINDS = ("first", "second", "third", "fourth", "fifth")
WIDE, HIGH = 520.0, 300.0  # of the canvas
LEFT, TOP, BELOW = 76.0, 76.0, 62.0
LETTER = 7.4  # how wide a letter is, about
BAR, GAP = 20.0, 14.0


def plot_svg(plot: LinePlot | BarPlot) -> str:
    return lines_svg(plot) if isinstance(plot, LinePlot) else bars_svg(plot)


def document(width: float, height: float, title: str, inside: str) -> str:
    style = files("regard.claims.draw").joinpath("plot.css").read_text(encoding="utf-8")
    return (
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(title)}"><style>{style}</style>'
        f'<rect class="ground" width="100%" height="100%" rx="12"/>{inside}</svg>\n'
    )


def lines_svg(plot: LinePlot) -> str:
    wide, high = across(plot), up(plot)
    right = 24 + LETTER * max((len(series.name) for series in plot.series), default=0)
    body = "".join(
        [*grid(wide, high), *(part for n, one in enumerate(plot.series) for part in line(n, one, wide, high))]
    )
    names = "".join(ends(plot, high))
    heads = (
        f'<text class="title" x="20" y="28">{escape(plot.title)}</text>'
        f'<text class="tick" x="20" y="50">{escape(plot.y_name)}</text>'
        f'<text class="tick" x="{LEFT + WIDE / 2:.0f}" y="{TOP + HIGH + 46:.0f}" text-anchor="middle">'
        f"{escape(plot.x_name)}</text>"
    )
    inside = f'{heads}<g transform="translate({LEFT:g} {TOP:g})">{body}{names}</g>'
    return document(max(LEFT + WIDE + right, 40 + 8 * len(plot.title)), TOP + HIGH + BELOW, plot.title, inside)


def grid(wide: Scale, high: Scale) -> Iterator[str]:
    for value, words in high.ticks:
        y = HIGH * (1 - high.share(value))
        yield f'<path class="grid" d="M0 {y:.1f}H{WIDE:g}"/>'
        yield f'<text class="tick" x="-10" y="{y + 4:.1f}" text-anchor="end">{words}</text>'
    last = -1e9
    for value, words in wide.ticks:
        x = WIDE * wide.share(value)
        yield f'<path class="axis" d="M{x:.1f} {HIGH:g}v5"/>'
        if x - last > LETTER * (len(words) + 1):
            yield f'<text class="tick" x="{x:.1f}" y="{HIGH + 22:g}" text-anchor="middle">{words}</text>'
            last = x
    yield f'<path class="axis" d="M0 {HIGH:g}H{WIDE:g}"/>'


def line(number: int, series: Series, wide: Scale, high: Scale) -> Iterator[str]:
    """The line, a dot at each point, a whisker where it is not exact."""
    kind = KINDS[number % len(KINDS)]
    points = [(WIDE * wide.share(x), one) for x, one in sorted(series.points, key=lambda point: point[0])]
    dots = [(x, HIGH * (1 - high.share(one.value))) for x, one in points]
    yield f'<path class="line {kind}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in dots)}"/>'
    for (x, one), (_, y) in zip(points, dots, strict=True):
        if not one.exact:
            low, top = HIGH * (1 - high.share(one.low)), HIGH * (1 - high.share(one.high))
            yield f'<path class="whisker {kind}" d="M{x:.1f} {low:.1f}V{top:.1f}"/>'
        title = f"<title>{escape(series.name)}: {estimate_words(one)}</title>"
        yield f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.4">{title}</circle>'


def ends(plot: LinePlot, high: Scale) -> Iterator[str]:
    """Names at the ends of the lines, moved apart where they would touch."""
    last = [max(series.points, key=lambda point: point[0])[1] for series in plot.series]
    heights = apart([HIGH * (1 - high.share(one.value)) for one in last], HIGH)
    for number, (series, y) in enumerate(zip(plot.series, heights, strict=True)):
        kind = KINDS[number % len(KINDS)]
        yield f'<text class="name {kind}" x="{WIDE + 12:g}" y="{y + 4:.1f}">{escape(series.name)}</text>'


def bars_svg(plot: BarPlot) -> str:
    scale = along(plot)
    left = 32 + LETTER * max((len(name) for name, _ in plot.bars), default=0)
    height = len(plot.bars) * (BAR + GAP)
    body = "".join(part for n, (name, one) in enumerate(plot.bars) for part in bar(n * (BAR + GAP), name, one, scale))
    if plot.mark:
        x = WIDE * scale.share(plot.mark[1])
        body += f'<path class="mark" d="M{x:.1f} -8V{height:.0f}"/>'
        body += (
            f'<text class="tick" x="{x:.1f}" y="{height + 16:.0f}" text-anchor="middle">{escape(plot.mark[0])}</text>'
        )
    heads = (
        f'<text class="title" x="20" y="28">{escape(plot.title)}</text>'
        f'<text class="tick" x="20" y="50">{escape(plot.y_name)}</text>'
    )
    room = 30 + LETTER * max((len(estimate_words(one)) for _, one in plot.bars), default=0)
    inside = f'{heads}<g transform="translate({left:.0f} {TOP:g})">{body}</g>'
    return document(max(left + WIDE + room, 40 + 8 * len(plot.title)), TOP + height + 36, plot.title, inside)


def bar(y: float, name: str, one: Estimate, scale: Scale) -> Iterator[str]:
    """From 0 to the value, with its number behind whatever reaches furthest."""
    zero, end, low, high = (WIDE * scale.share(value) for value in (0.0, one.value, one.low, one.high))
    middle = y + BAR / 2
    yield f'<text class="name" x="-12" y="{middle + 4:.1f}" text-anchor="end">{escape(name)}</text>'
    left, width = min(zero, end), abs(end - zero)
    yield f'<rect class="bar" x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR:g}" rx="3"/>'
    if not one.exact:
        yield f'<path class="whisker" d="M{low:.1f} {middle:.1f}H{high:.1f}"/>'
    yield f'<text class="tick" x="{max(end, high, zero) + 10:.1f}" y="{middle + 4:.1f}">{estimate_words(one)}</text>'
