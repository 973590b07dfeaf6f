"""Panels of curves as SVG: thin axes, readable ticks, and each line's name at its end instead of a legend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise

from regard.drawing.figures import fixed

Point = tuple[float, float]  # step and value; a value that is not a number is a gap
APART = 17.0  # between two names at line ends
EDGE = 5  # around a panel, so that dots on its border are whole
DOTS = 40  # points of a line that are shown one by one


@dataclass(frozen=True)
class Curve:
    """One curve. `kind` is its class in the style sheet; without a name it is drawn but not labelled."""

    kind: str
    points: list[Point]
    name: str = ""
    value: str = ""
    dotted: bool = False  # its points shown
    ring: float | None = None  # the step of a point that is marked

    def finite(self) -> list[Point]:
        return [point for point in self.points if math.isfinite(point[1])]


@dataclass(frozen=True)
class Range:
    """A piece of an axis, with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Axes:
    """Where a panel stands, and what it spans."""

    left: float
    top: float
    width: float
    height: float
    across: Range
    up: Range

    def x(self, step: float) -> float:
        return self.width * self.across.share(step)

    def y(self, value: float) -> float:
        return self.height * (1 - self.up.share(value))


def spanning(low: float, high: float, most: int = 5, *, whole: bool = True) -> Range:
    """A range with round ticks; `whole` ends it at ticks too."""
    if not high > low:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= rough * (1 - 1e-9))
    if not whole:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        return Range(low, high, tuple(round(index * step, 12) for index in range(first, last + 1)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(index * step, 12) for index in range(first, last + 1))
    return Range(ticks[0], ticks[-1], ticks)


def panel(axes: Axes, title: str, curves: Sequence[Curve], *, marks: Sequence[float] = ()) -> str:
    """One panel. What lies beyond its range is cut off by the inner <svg>, so that nothing needs an id."""
    wide, high = axes.width + 2 * EDGE, axes.height + 2 * EDGE
    inside = "".join(curve_svg(axes, curve) for curve in curves)
    starts = "".join(
        f'<path class="mark" d="M{axes.x(at):.1f} 0V{axes.height:g}"><title>went on at {at:,.0f}</title></path>'
        for at in marks
    )
    return (
        f'<g transform="translate({axes.left:g} {axes.top:g})">'
        f'<text class="title" x="{-axes.left + 16:g}" y="-16">{escape(title)}</text>'
        f"{''.join(grid(axes))}{starts}"
        f'<svg x="{-EDGE}" y="{-EDGE}" width="{wide:g}" height="{high:g}" viewBox="{-EDGE} {-EDGE} {wide:g} {high:g}">'
        f"{inside}</svg>"
        f"{rings(axes, curves)}{labels(axes, curves)}</g>"
    )


def grid(axes: Axes) -> Iterator[str]:
    """A hairline for each tick, with its number at the left."""
    for tick, words in zip(axes.up.ticks, tick_words(axes.up.ticks), strict=True):
        y = axes.y(tick)
        yield f'<path class="{"axis" if tick == axes.up.low else "grid"}" d="M0 {y:.1f}H{axes.width:g}"/>'
        yield f'<text class="tick" x="-10" y="{y + 4:.1f}" text-anchor="end">{words}</text>'


def steps_axis(axes: Axes) -> str:
    """The numbers of the steps, below a panel."""
    texts = [
        f'<text class="tick" x="{axes.x(tick):.1f}" y="{axes.height + 22:g}" text-anchor="middle">{words}</text>'
        for tick, words in zip(axes.across.ticks, tick_words(axes.across.ticks), strict=True)
    ]
    name = f'<text class="tick" x="{axes.width + 26:g}" y="{axes.height + 22:g}">steps</text>'
    return f'<g transform="translate({axes.left:g} {axes.top:g})">{"".join(texts)}{name}</g>'


def curve_svg(axes: Axes, curve: Curve) -> str:
    path = path_of(axes, curve.points)
    drawn = f'<path class="line {curve.kind}" d="{path}"/>' if path else ""
    finite = curve.finite()
    alone = len(finite) == 1
    if alone or (curve.dotted and len(finite) <= DOTS):
        size = 2.6 if alone else 2
        drawn += "".join(
            f'<circle class="dot {curve.kind}" cx="{axes.x(step):.1f}" cy="{axes.y(value):.1f}" r="{size}"/>'
            for step, value in finite
        )
    return drawn


def path_of(axes: Axes, points: Sequence[Point]) -> str:
    """Straight from point to point, interrupted where a value is no number."""
    parts = []
    for known, some in groupby(points, key=lambda point: math.isfinite(point[1])):
        if known:
            parts.append("M" + "L".join(f"{axes.x(step):.1f} {axes.y(value):.1f}" for step, value in some))
    return "".join(parts)


def rings(axes: Axes, curves: Sequence[Curve]) -> str:
    """Around the points of the model that is kept, and once the word for it, where it is not in the title's way."""
    marked = [(curve.kind, step, value) for curve in curves for step, value in curve.finite() if step == curve.ring]
    circles = [
        f'<circle class="ring {kind}" cx="{axes.x(step):.1f}" cy="{axes.y(value):.1f}" r="4"/>'
        for kind, step, value in marked
    ]
    for _, step, value in sorted(marked, key=lambda one: -one[2])[:1]:
        where = f'x="{axes.x(step):.1f}" y="{axes.y(value) - 11:.1f}"'
        if axes.y(value) > APART:
            circles.append(f'<text class="tick" {where} text-anchor="middle">best</text>')
    return "".join(circles)


def labels(axes: Axes, curves: Sequence[Curve]) -> str:
    """Names and last values at the ends of the lines, moved apart where they would touch."""
    named = [curve for curve in curves if curve.name and curve.finite()]
    ends = [min(max(axes.y(curve.finite()[-1][1]), 0.0), axes.height) for curve in named]
    texts = []
    for curve, y in zip(named, apart(ends, axes.height), strict=True):
        value = f' <tspan class="value">{escape(curve.value)}</tspan>' if curve.value else ""
        where = f'x="{axes.width + 12:g}" y="{y + 4:.1f}"'
        texts.append(f'<text class="name {curve.kind}" {where}>{escape(curve.name)}{value}</text>')
    return "".join(texts)


def apart(positions: Sequence[float], height: float) -> list[float]:
    """The same positions in the same order, each at least `APART` from the next, and all inside if they can be."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    moved = list(positions)
    for before, after in pairwise(order):
        moved[after] = max(moved[after], moved[before] + APART)
    limit = height
    for index in reversed(order):
        moved[index] = limit = min(moved[index], limit)
        limit -= APART
    return moved


def tick_words(ticks: Sequence[float]) -> list[str]:
    """Numbers of one axis in one form: 0.5, 1.0; 5k, 10k; 0.0005."""
    largest = max(map(abs, ticks), default=0.0)
    if largest >= 1_000_000:
        return [f"{tick / 1e6:g}M" if tick else "0" for tick in ticks]
    if largest >= 10_000:
        return [f"{tick / 1e3:g}k" if tick else "0" for tick in ticks]
    if 0 < largest < 1e-4:
        return [f"{tick:.1e}".replace(".0e", "e").replace("e-0", "e−") if tick else "0" for tick in ticks]
    digits = next((digits for digits in range(7) if all(abs(t - round(t, digits)) < 1e-9 for t in ticks)), 7)
    return [f"{tick:,.0f}" if digits == 0 or not tick else fixed(tick, digits) for tick in ticks]
