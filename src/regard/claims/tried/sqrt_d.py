"""What does the division by √d do to gradients, to the entropy of the weights, and to what is learned?"""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import nn

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, difference, mean_of, ratio
from regard.claims.lab.controls import blocks, scaled_by
from regard.claims.lab.fit import Fit, fit_pairs, gradient_norm, loss_on
from regard.claims.lab.pair_task import batch_of, pair_task
from regard.claims.lab.small_models import small_transformer
from regard.claims.lab.watching import mean_entropy
from regard.claims.measurement import Cell, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

DIMS = (16, 64, 192)
FULL_DIMS = (16, 64, 256, 1024)
EARLY = 20  # steps whose gradients count: they decide what is learned at all


class Case(NamedTuple):
    """One training: one head as wide as the model, its scores divided by √d or not."""

    dim: int
    scaled: bool
    seed: int


class Outcome(NamedTuple):
    """What one training shows."""

    gradient: float  # norm, of all matrices that make queries, keys and values, mean of the first steps
    entropy: float  # of the weights before any step, in nats
    loss: float  # nats a word on validation sentences, at the end


def run(setting: Setting, case: Case) -> Outcome:
    task = pair_task(setting)
    model = small_transformer(task, setting, case.seed, dim=case.dim, heads=1, feedforward=2 * case.dim)
    model.to(setting.device)
    sample = batch_of(task.valid[:100]).to(setting.device)
    gradients: list[float] = []

    def watch(step: int, trained: nn.Module, _: float) -> None:
        if step < EARLY:
            sums = [gradient_norm(block.self_attention.qkv) ** 2 for block in blocks(trained)]
            gradients.append(math.sqrt(math.fsum(sums)))

    steps, rate = setting.quick_or_full((150, 2e-3), (8_000, 7e-4))
    with scaled_by(model, 1 / math.sqrt(case.dim) if case.scaled else 1.0):
        entropy = mean_entropy(model, sample.source, sample.target)
        fit_pairs(model, task, Fit(steps, 32, rate, case.seed, setting.device, watch=watch))
        loss = loss_on(model, task.valid, setting.device)
    return Outcome(mean_of(gradients).value, entropy, loss)


def measure(setting: Setting) -> Measurement:
    dims = setting.quick_or_full(DIMS, FULL_DIMS)
    cases = [Case(dim, scaled, seed) for dim in dims for scaled in (True, False) for seed in setting.seeds]
    outcomes = dict(zip(cases, setting.each(run, cases), strict=True))

    def values(dim: int, scaled: bool, name: str) -> list[float]:
        return [getattr(outcomes[Case(dim, scaled, seed)], name) for seed in setting.seeds]

    rows: list[tuple[Cell, ...]] = []
    gradients: dict[int, Estimate] = {}
    losses: dict[int, Estimate] = {}
    for dim in dims:
        gradients[dim] = ratio(values(dim, False, "gradient"), values(dim, True, "gradient"))
        losses[dim] = difference(values(dim, False, "loss"), values(dim, True, "loss"))
        entropies = [mean_of(values(dim, scaled, "entropy")) for scaled in (True, False)]
        rows.append((dim, gradients[dim], *entropies, mean_of(values(dim, True, "loss")), losses[dim]))
    numbers = {"gradient_ratio": gradients[dims[-1]], "loss_gained": losses[dims[-1]]}
    columns = (
        "d",
        "gradient, without over with",
        "entropy, with",
        "entropy, without",
        "loss, with",
        "loss, without less with",
    )
    table = ResultTable("with and without the division by √d (gradient ratio: without over with)", columns, tuple(rows))
    curves = tuple(
        Series(
            f"{'divided' if scaled else 'as they are'}",
            tuple((float(dim), mean_of(values(dim, scaled, "loss"))) for dim in dims),
        )
        for scaled in (True, False)
    )
    plot = LinePlot("Loss after the same number of steps", "d", "nats a word", curves, log_x=True)
    return Measurement(numbers, (table,), plot)


def holds(numbers: Numbers) -> bool:
    return numbers["gradient_ratio"].above(2) and numbers["loss_gained"].above(0)


def fails(numbers: Numbers) -> bool:
    return numbers["gradient_ratio"].below(1) or numbers["loss_gained"].below(0)


CLAIM = Claim(
    name="sqrt-d",
    statement="Scores must be divided by √d, or gradients explode.",
    if_true="Without the division the gradients of the attention's matrices are many times larger, more so with a "
    "larger d, and the loss ends higher.",
    if_false="They are as large or smaller (a softmax that is saturated passes none on), or training does not suffer.",
    control="The same model from the same seed on the same batches, its scores divided.",
    measure=measure,
    rule=VerdictRule(
        "at the largest d gradients are surely more than twice as large without it, and the loss surely higher",
        "gradients are surely smaller without it, or the loss is surely lower",
        holds,
        fails,
    ),
)
