"""Does the loss fall as a power of a model's size and of the text it learns from?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, mean_of, slope
from regard.claims.lab.fit import Fit
from regard.claims.lab.language_task import LanguageTask, fit_rows, language_task, rate_for, small_decoder
from regard.claims.lab.small_models import parameters
from regard.claims.lab.variants import by_variant, mean
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

DIMS, FULL_DIMS = (8, 16, 32, 64), (32, 64, 128, 256)
TEXTS = (1 / 64, 1 / 24, 1 / 10, 1 / 4)  # of all text: enough steps to read each at least twice
FULL_TEXTS = (1 / 27, 1 / 9, 1 / 3, 1.0)
STEPS, FULL_STEPS = 300, 500
FLAT = 0.01  # a slope of less is called none: ten times the size, and the loss falls by 2 %
STRAIGHT = 0.05  # of the whole fall; so far are points from the line where the last third is half as steep as the first


class Case(NamedTuple):
    """A model that is so wide, and learns from this part of the text."""

    dim: int
    share: float


class Outcome(NamedTuple):
    size: int  # parameters but for the embedding, which says nothing of how much a model can compute
    words: int  # to learn from
    loss: float  # nats a word on other text, the lowest: what stopping in time would give


def run(setting: Setting, case: tuple[Case, int]) -> Outcome:
    (dim, share), seed = case
    whole = language_task(setting)
    task = part_of(whole, share, seed)
    model = small_decoder(task, seed, dim, setting.quick_or_full(2, 4))
    steps, batch = setting.quick_or_full((STEPS, 32), (FULL_STEPS, 128))
    losses = fit_rows(model, task, Fit(steps, batch, rate_for(dim), seed, setting.device))
    size = parameters(model) - parameters(model.embedding)
    return Outcome(size, sum(len(row) for row in task.train), min(losses))


def part_of(task: LanguageTask, share: float, seed: int) -> LanguageTask:
    return task.part(round(share * len(task.train)), seed)


Results = dict[Case, list[Outcome]]


def measure(setting: Setting) -> Measurement:
    dims, texts = setting.quick_or_full((DIMS, TEXTS), (FULL_DIMS, FULL_TEXTS))
    by_size = [Case(dim, 1.0) for dim in dims]
    by_text = [Case(dims[-1], share) for share in texts]
    results = by_variant(setting, run, list(dict.fromkeys([*by_size, *by_text])))
    series = {"size": [results[case] for case in by_size], "words": [results[case] for case in by_text]}
    numbers = {}
    for name, ones in series.items():
        lines = [log_points(points, name) for points in zip(*ones, strict=True)]
        numbers[f"slope_by_{name}"] = mean_of([slope(line).value for line in lines])
        numbers[f"bend_by_{name}"] = mean_of([bend(line) for line in lines])
    return Measurement(numbers, tables_of(series, numbers), plot_of(series), REMARKS)


def log_points(outcomes: Sequence[Outcome], name: str) -> list[tuple[float, float]]:
    """Of one seed, the logarithms of sizes or words and of losses."""
    return [(math.log(getattr(one, name)), math.log(one.loss)) for one in outcomes]


def bend(points: Sequence[tuple[float, float]]) -> float:
    """How far the furthest point is from the straight line nearest to all, as a share of the whole fall."""
    steep = slope(points).value
    level = math.fsum(y - steep * x for x, y in points) / len(points)
    fall = max(y for _, y in points) - min(y for _, y in points)
    return max(abs(y - steep * x - level) for x, y in points) / fall if fall else 0.0


def tables_of(series: dict[str, list[list[Outcome]]], numbers: dict[str, Estimate]) -> tuple[ResultTable, ...]:
    titles = {"size": "By parameters, on all the text", "words": "By words of text, the largest model"}
    tables = tuple(
        ResultTable(
            titles[name],
            ("parameters" if name == "size" else "words", "lowest loss"),
            tuple((round(mean(one, name).value), mean(one, "loss")) for one in ones),
        )
        for name, ones in series.items()
    )
    rows = tuple((name, numbers[f"slope_by_{name}"], numbers[f"bend_by_{name}"]) for name in series)
    lines = ResultTable("The straight lines nearest to the logarithms", ("by", "slope", "bend"), rows)
    return (*tables, lines)


def plot_of(series: dict[str, list[list[Outcome]]]) -> LinePlot:
    """Sizes and words on one axis: how many times the smallest they are."""
    curves = tuple(
        Series(
            "parameters" if name == "size" else "words of text",
            tuple((mean(one, name).value / mean(ones[0], name).value, mean(one, "loss")) for one in ones),
        )
        for name, ones in series.items()
    )
    return LinePlot("Lowest loss by size", "times the smallest", "nats a word", curves, log_x=True, log_y=True)


REMARKS = (
    "Decoders that say the next word; the embedding is not counted. All learn for as many steps, the loss is the "
    "lowest on text that was not read, and the learning rate falls with the root of the width.",
    "Slope −0.1: ten times the size, and the loss is a fifth lower. Bend: the point that is furthest from the line, as "
    "a share of the whole fall.",
    "A straight line goes down to nothing. The loss of a language does not: where models or texts are large enough, it "
    "must bend.",
)


def holds(numbers: Numbers) -> bool:
    return all(
        numbers[f"slope_by_{name}"].below(-FLAT) and numbers[f"bend_by_{name}"].below(STRAIGHT)
        for name in ("size", "words")
    )


def fails(numbers: Numbers) -> bool:
    return all(numbers[f"slope_by_{name}"].above(-FLAT) for name in ("size", "words"))


CLAIM = Claim(
    name="scales",
    statement="The larger the model and the more text, the lower the loss: as a power of either, which is a straight "
    "line on logarithmic scales.",
    if_true="Both lines fall, and all points lie near them.",
    if_false="The loss falls neither with size nor with text; where it falls along a curve, half of it is true.",
    control="Size varies on the same text, text with the same model, for as many steps, from the same seeds.",
    measure=measure,
    rule=VerdictRule(
        f"both slopes are surely below −{FLAT:g}, and no point surely is further than {STRAIGHT:.0%} of the whole fall "
        "from its line",
        f"both slopes are surely above −{FLAT:g}",
        holds,
        fails,
    ),
    data=("wikitext-2",),
)
