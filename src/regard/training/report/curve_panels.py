"""The curves of a run, drawn: loss, scores and learning rate, one panel below the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import NamedTuple

from regard.drawing.panels import Axes, Curve, Point, Range, panel, spanning, steps_axis
from regard.training.report.run_log import RunLog, number, score_name, score_words, smooth, thin

UNSCORED = ("loss", "perplexity")  # not among the scores that grow as a model gets better
COLOURS = ("second", "third", "fourth", "fifth")


class Shape(NamedTuple):
    """Sizes of a drawing: one for screens, one for phones, where letters must not shrink."""

    width: float
    left: float
    right: float  # room for the names at the line ends
    loss: float
    scores: float
    ticks: int


WIDE = Shape(880, 64, 142, 280, 200, 8)
NARROW = Shape(430, 58, 132, 220, 170, 3)
RATE, ABOVE, BELOW = 56.0, 58.0, 44.0  # heights: of the last panel, of what is above each, of what is below all


class PanelSpec(NamedTuple):
    """A panel before it has its place."""

    title: str
    lines: list[Curve]
    up: Range
    height: float


def drawing(run: RunLog, shape: Shape) -> str:
    """The panels there is something to show in, one below the other."""
    style = files("regard.training.report").joinpath("curves_svg.css").read_text(encoding="utf-8")
    parts = list(panels(run, shape))
    height = sum(ABOVE + part.height for part in parts) + BELOW if parts else 120.0
    inside = "".join(placed(run, shape, parts)) if parts else nothing(shape, height)
    return (
        f'<svg class="curves" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {shape.width:g} {height:g}" '
        f'width="{shape.width:g}" height="{height:g}" role="img" aria-label="{escape(summary(run))}">'
        f'<style>{style}</style><rect class="ground" width="100%" height="100%" rx="12"/>{inside}</svg>'
    )


def nothing(shape: Shape, height: float) -> str:
    return f'<text class="title" x="{shape.width / 2:g}" y="{height / 2:g}" text-anchor="middle">no steps yet</text>'


def summary(run: RunLog) -> str:
    """The same in a sentence, for those who do not see it."""
    named = [("training loss", "loss", smooth(run.curve("loss")))]
    named += [(f"validation {score_name(name)}", name, run.score(name)) for name in run.score_names()]
    ends = [f"{words} {last_words(name, points)}" for words, name, points in named if finite(points)]
    return f"Training curves over {run.last_step():,.0f} steps" + (f": at the end {', '.join(ends)}" if ends else "")


def panels(run: RunLog, shape: Shape) -> Iterator[PanelSpec]:
    losses = loss_lines(run)
    if losses:
        yield PanelSpec("Loss, in nats a token", losses, loss_range(losses), shape.loss)
    scored = score_lines(run)
    if scored:
        values = [value for line in scored for _, value in line.finite()]
        yield PanelSpec("Validation scores", scored, spanning(min(0.0, *values), max(1.0, *values)), shape.scores)
    rate = thin(run.curve("rate"))
    if any(value > 0 for _, value in finite(rate)):
        top = max(value for _, value in finite(rate))
        yield PanelSpec("Learning rate", [Curve("plain", rate)], spanning(0.0, top, 2), RATE)


def placed(run: RunLog, shape: Shape, parts: list[PanelSpec]) -> Iterator[str]:
    """Each panel at its height; the steps are numbered below the last."""
    last = max(run.last_step(), 1.0)
    across = spanning(0.0, last, min(shape.ticks, int(last)), whole=False)
    went_on = [at for row in run.starts[1:] if 0 < (at := number(row.get("step"))) < across.high]
    top = ABOVE
    for part in parts:
        axes = Axes(shape.left, top, shape.width - shape.left - shape.right, part.height, across, part.up)
        yield panel(axes, part.title, part.lines, marks=went_on)
        top += part.height + ABOVE
    yield steps_axis(axes)


def loss_lines(run: RunLog) -> list[Curve]:
    raw, valid = run.curve("loss"), run.score("loss")
    smoothed = thin(smooth(raw))
    lines = [
        Curve("first raw", thin(raw)),
        Curve("first", smoothed, "training", last_words("loss", smoothed)),
        Curve("second", thin(valid), "validation", last_words("loss", valid), dotted=True, ring=run.best()),
    ]
    return [line for line in lines if line.finite()]


def loss_range(lines: list[Curve]) -> Range:
    """All of validation, and of training all but its highest twentieth: the first steps would press the rest flat."""
    training, valid = (
        sorted(value for line in lines if line.kind == kind for _, value in line.finite())
        for kind in ("first", "second")
    )
    most = training[: max(1, math.ceil(len(training) * 0.95))]
    return spanning(min([*most[:1], *valid[:1]]), max([*most[-1:], *valid[-1:]]))


def score_lines(run: RunLog) -> list[Curve]:
    """A line for each score out of a hundred, BLEU and chrF first."""
    names = [name for name in run.score_names() if name not in UNSCORED and finite(run.score(name))]
    names.sort(key=lambda name: ("bleu", "chrf", name).index(name))
    return [
        Curve(COLOURS[index % 4], thin(points), score_name(name), last_words(name, points), True, run.best())
        for index, name in enumerate(names)
        for points in [run.score(name)]
    ]


def finite(points: list[Point]) -> list[Point]:
    return [point for point in points if math.isfinite(point[1])]


def last_words(name: str, points: list[Point]) -> str:
    """The last value there is, as people write it."""
    known = finite(points)
    return score_words(name, known[-1][1]) if known else ""
