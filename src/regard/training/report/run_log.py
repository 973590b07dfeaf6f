"""The log of a training run as curves: what was undone is left out, what is too much is thinned."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from regard.drawing.figures import figure, fixed
from regard.drawing.panels import Point

Row = Mapping[str, Any]
POINTS = 500  # of a curve at most: more than a screen can show
WORDS = {"bleu": "BLEU", "chrf": "chrF", "f1": "F1"}
DECIMALS = {"loss": 3, "perplexity": 2, "bleu": 2, "chrf": 2, "nats": 4}  # by the first word of a score's name
PERCENT = ("accuracy", "macro_f1", "pronoun_agreement")


@dataclass(frozen=True)
class RunLog:
    """What happened, by step. `starts` has a row for each time training began or went on."""

    steps: list[Row] = field(default_factory=list)
    validations: list[Row] = field(default_factory=list)
    starts: list[Row] = field(default_factory=list)
    finished: Row | None = None

    def curve(self, name: str) -> list[Point]:
        """A number of every logged step: loss, rate."""
        return [(number(row["step"]), number(row.get(name))) for row in self.steps]

    def score(self, name: str) -> list[Point]:
        """A score at every validation that has it."""
        return [(number(row["step"]), number(scores(row)[name])) for row in self.validations if name in scores(row)]

    def score_names(self) -> list[str]:
        """Every score there is, in the order they first came, loss first."""
        names = dict.fromkeys(name for row in self.validations for name in scores(row))
        return sorted(names, key=lambda name: name != "loss")

    def best(self) -> float | None:
        """The step of the model that is kept."""
        marked = [number(row["step"]) for row in self.validations if row.get("best") is True]
        return marked[-1] if marked else None

    def last_step(self) -> float:
        return max((number(row["step"]) for row in (*self.steps[-1:], *self.validations[-1:])), default=0.0)

    def seconds(self) -> float:
        """How long was trained, over all starts."""
        rows = [*self.steps[-1:], *([self.finished] if self.finished else [])]
        return max((known for row in rows if math.isfinite(known := number(row.get("seconds")))), default=math.nan)

    def seconds_at(self, step: float) -> float:
        """How long was trained until then, by the last row before."""
        index = bisect_right(self.steps, step, key=lambda row: number(row["step"]))
        return number(self.steps[index - 1].get("seconds")) if index else math.nan


def read_run(rows: Iterable[Row]) -> RunLog:
    """Order in the rows of a log. A run that went on from a checkpoint undoes what came after it."""
    by_event: dict[str, dict[float, Row]] = {"step": {}, "valid": {}}
    starts: list[Row] = []
    finished: Row | None = None
    for row in rows:
        event, step = str(row.get("event")), number(row.get("step"))
        if event == "started":
            starts.append(row)
            finished = None
            by_event = {
                name: {at: old for at, old in by_step.items() if not at > step} for name, by_step in by_event.items()
            }
        elif event == "finished":
            finished = row
        elif event in by_event and math.isfinite(step):
            by_event[event][step] = row
    steps, validations = ([by_step[step] for step in sorted(by_step)] for by_step in by_event.values())
    return RunLog(steps, validations, starts, finished)


def number(value: Any) -> float:
    """A number of the log, or nan for what is none."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if known else math.nan


def scores(row: Row) -> Mapping[str, Any]:
    table = row.get("scores")
    return table if isinstance(table, Mapping) else {}


def smooth(points: Sequence[Point]) -> list[Point]:
    """Each value as the mean of its neighbours to both sides; at the start of as many as there are."""
    reach = len(points) // 40
    finite = [value if math.isfinite(value) else 0.0 for _, value in points]
    sums = [0.0, *accumulate(finite)]
    counts = [0, *accumulate(int(math.isfinite(value)) for _, value in points)]
    smoothed = []
    for index, (step, value) in enumerate(points):
        half = min(reach, index)
        first, last = index - half, min(index + half + 1, len(points))
        mean = (sums[last] - sums[first]) / max(counts[last] - counts[first], 1)
        smoothed.append((step, mean if math.isfinite(value) else math.nan))
    return smoothed


def thin(points: Sequence[Point], most: int = POINTS) -> list[Point]:
    """At most so many of the points, evenly chosen, with both ends."""
    if len(points) <= most:
        return list(points)
    return [points[round(index * (len(points) - 1) / (most - 1))] for index in range(most)]


def score_name(name: str) -> str:
    """As people write it: BLEU, chrF, macro F1."""
    return " ".join(WORDS.get(word, word) for word in name.split("_"))


def score_words(name: str, value: Any) -> str:
    """A score with the decimals that matter."""
    known = number(value)
    if name in PERCENT:
        return f"{fixed(known, 1)} %"
    decimals = DECIMALS.get(name.partition("_")[0])
    return figure(known) if decimals is None else fixed(known, decimals)


def duration(seconds: float) -> str:
    """0:07, 12:30, 1:02:30, 2 d 3 h: as long as need be."""
    if not math.isfinite(seconds) or seconds < 0:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
