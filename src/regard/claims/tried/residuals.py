"""Can deep models learn without residual connections, and does the gradient still reach their first layer?"""

from __future__ import annotations

import sys
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, difference, mean_of, ratio
from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.controls import without_residuals
from regard.claims.lab.fit import Fit, fit_pairs, gradient_norm, loss_on
from regard.claims.lab.pair_task import PairTask, batch_of, pair_task
from regard.claims.lab.small_models import small_transformer
from regard.claims.lab.variants import MARGIN, by_variant, guess_remark, mean
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting
from regard.models import Transformer

DEPTHS, FULL_DEPTHS = (1, 2, 4), (1, 2, 4, 8)  # layers of each stack
STEPS, FULL_STEPS = 200, 800
PAIRS = 2_000  # of the quick form
QUICK: dict[str, int] = {"dim": 32, "heads": 4, "feedforward": 64}
FULL: dict[str, int] = {}  # as all full forms have
EARLY = 20  # steps whose gradients count: they decide what is learned at all
LESS = 0.5  # of the gradient with residuals: below it, it surely reaches the first layer less
SMALLEST = sys.float_info.min  # stands for a gradient of zero where logarithms are taken


class Case(NamedTuple):
    depth: int
    residual: bool


class Outcome(NamedTuple):
    """What one training shows."""

    gradient: float  # norm over the encoder's first layer, mean of the first steps
    alike: float  # of what the encoder gives before any step, the share that is the same for all words
    loss: float  # nats a word on test sentences, at the end


def task_of(setting: Setting) -> PairTask:
    """Quickly, what a short training can learn wholly; in full, real text."""
    return pair_task(setting) if setting.full else clause_pairs(PAIRS, 2)


def run(setting: Setting, case: tuple[Case, int]) -> Outcome:
    (depth, residual), seed = case
    task = task_of(setting)
    sizes = {"encoder_layers": depth, "decoder_layers": depth, **setting.quick_or_full(QUICK, FULL)}
    model = small_transformer(task, setting, seed, **sizes)
    if not residual:
        without_residuals(model)
    model.to(setting.device)
    gradients: list[float] = []

    def watch(step: int, trained: nn.Module, _: float) -> None:
        if step < EARLY:
            gradients.append(gradient_norm(model.encoder[0]))

    alike = alike_share(model, batch_of(task.test[:100]).source.to(setting.device))
    steps, batch, rate = setting.quick_or_full((STEPS, 32, 3e-3), (FULL_STEPS, 128, 1e-3))
    fit_pairs(model, task, Fit(steps, batch, rate, seed, setting.device, watch=watch))
    return Outcome(max(mean_of(gradients).value, SMALLEST), alike, loss_on(model, task.test, setting.device))


@torch.no_grad()
def alike_share(model: Transformer, source_BN: Tensor) -> float:
    """How much of the vectors that stand for a sentence's words is their mean: 1 where no word differs from another."""
    model.eval()
    mask_BN = source_BN != (model.config.pad or 0)
    x_BND = model.encode(source_BN, mask_BN).double() * mask_BN[..., None]
    count_B = mask_BN.sum(-1).double()
    mean_BD = x_BND.sum(1) / count_B[:, None]
    return float((mean_BD.square().sum(-1) * count_B).sum() / x_BND.square().sum())


Results = dict[Case, list[Outcome]]


def measure(setting: Setting) -> Measurement:
    depths = setting.quick_or_full(DEPTHS, FULL_DEPTHS)
    results = by_variant(setting, run, [Case(depth, residual) for depth in depths for residual in (True, False)])
    shallowest, deepest = (lost_at(results, depth) for depth in (depths[0], depths[-1]))
    numbers = {
        "gradient_ratio": gradient_ratio(results, depths[-1]),
        "loss_lost": mean_of(deepest),
        "lost_by_depth": difference(deepest, shallowest),
    }
    curves = tuple(
        Series(
            "with residual connections" if residual else "without",
            tuple((float(depth), mean(results[Case(depth, residual)], "loss")) for depth in depths),
        )
        for residual in (True, False)
    )
    plot = LinePlot("Loss after the same number of steps", "layers of each stack", "nats a word", curves, log_x=True)
    return Measurement(numbers, tables_of(results, depths), plot, (*REMARKS, guess_remark(task_of(setting))))


def gradient_ratio(results: Results, depth: int) -> Estimate:
    """Without residual connections, over with them."""
    with_them, without = ([one.gradient for one in results[Case(depth, residual)]] for residual in (True, False))
    return ratio(without, with_them)


def lost_at(results: Results, depth: int) -> list[float]:
    """Seed by seed, how much higher the loss ends without them."""
    pairs = zip(results[Case(depth, False)], results[Case(depth, True)], strict=True)
    return [without.loss - with_them.loss for without, with_them in pairs]


def tables_of(results: Results, depths: tuple[int, ...]) -> tuple[ResultTable, ...]:
    def means(depth: int, name: str) -> list[Estimate]:
        return [mean(results[Case(depth, residual)], name) for residual in (True, False)]

    return (
        ResultTable(
            "Before training, and as it begins",
            ("layers", "gradient, without over with", "alike, with", "alike, without"),
            tuple((depth, gradient_ratio(results, depth), *means(depth, "alike")) for depth in depths),
        ),
        ResultTable(
            "Test sentences, after the same number of steps",
            ("layers", "loss, with", "loss, without", "lost"),
            tuple((depth, *means(depth, "loss"), mean_of(lost_at(results, depth))) for depth in depths),
        ),
    )


REMARKS = (
    f"The gradient is the encoder's first layer's, in the first {EARLY} steps.",
    "Alike: of the vectors that stand for a sentence's words before training, the share that is the same for all.",
)


def holds(numbers: Numbers) -> bool:
    lost: list[Estimate] = [numbers["loss_lost"], numbers["lost_by_depth"]]
    return numbers["gradient_ratio"].below(LESS) and all(one.above(MARGIN) for one in lost)


def fails(numbers: Numbers) -> bool:
    return numbers["loss_lost"].below(MARGIN)


CLAIM = Claim(
    name="residuals",
    statement="Residual connections let deep models learn: without them the gradient does not reach the first layer, "
    "and the deeper a model, the worse it learns.",
    if_true="Without them the first layer's gradient is much smaller, the loss ends higher, and the more layers there "
    "are, the more it does.",
    if_false="The gradient is as large without them, or the loss ends as low.",
    control="The same model with them, from the same seed, on the same batches; its layer norms stay where they are.",
    measure=measure,
    rule=VerdictRule(
        f"in the deepest model the gradient is surely less than {LESS:g} of what it is with them, surely more than "
        f"{MARGIN:g} nats a word are lost, and surely that much more than in the shallowest",
        f"in the deepest model surely less than {MARGIN:g} nats a word are lost",
        holds,
        fails,
    ),
    data=("multi30k",),
)
