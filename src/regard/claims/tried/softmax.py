"""Is what softmax gives positive, does it sum to 1 and keep the order, and do larger gaps grow?"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from regard.attention import attend
from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import exactly
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

KEYS = 8
ROWS = 20_000, 1_000_000  # of scores, quickly and in full
LARGEST = 12.0  # scores are drawn between this and its negative
ROUNDING = 64 * KEYS * torch.finfo(torch.float64).eps  # of sums of so many weights, and of logarithms of their ratios


def softmax_weights(scores_RK: Tensor) -> Tensor:
    """By attention's one door: with the rows of the identity as keys, query and score are the same."""
    unit_KK = torch.eye(scores_RK.shape[-1], dtype=scores_RK.dtype)
    return attend(scores_RK[None, None], unit_KK[None, None], unit_KK[None, None], scale=1.0)[0, 0]


def divided(scores_RK: Tensor) -> Tensor:
    """The control: each score over the sum of all."""
    return scores_RK / scores_RK.sum(-1, keepdim=True)


def properties(weights_RK: Tensor, scores_RK: Tensor) -> dict[str, float]:
    """Of rows of weights, what the claim says of them."""
    order = scores_RK.argsort(-1)
    ordered = weights_RK.gather(-1, order)
    gaps = scores_RK.gather(-1, order).diff(dim=-1)
    return {
        "smallest_weight": float(weights_RK.min()),
        "furthest_from_1": float((weights_RK.sum(-1) - 1).abs().max()),
        "out_of_order": float((ordered.diff(dim=-1) < 0).sum()),
        "error_of_log_ratio": float((ordered.log().diff(dim=-1) - gaps).abs().nan_to_num(math.inf).max()),
    }


def measure(setting: Setting) -> Measurement:
    rows = setting.quick_or_full(*ROWS)
    rng = torch.Generator().manual_seed(setting.seeds[0])
    scores = (torch.rand(rows, KEYS, generator=rng, dtype=torch.float64) * 2 - 1) * LARGEST
    tried, control = properties(softmax_weights(scores), scores), properties(divided(scores), scores)
    words = {
        "smallest_weight": "smallest weight",
        "furthest_from_1": "a row's sum, furthest from 1",
        "out_of_order": "pairs of weights out of order",
        "error_of_log_ratio": "log of two weights' ratio, furthest from the gap of their scores",
    }
    table = ResultTable(
        f"{rows:,} rows of {KEYS} scores between −{LARGEST:g} and {LARGEST:g}",
        ("what", "softmax", "score over sum of scores"),
        tuple((text, tried[name], control[name]) for name, text in words.items()),
    )
    return Measurement({name: exactly(value) for name, value in tried.items()}, (table,), gaps_plot())


def gaps_plot() -> LinePlot:
    """Two keys: the weight of the larger by how much larger its score is."""
    gaps = torch.linspace(0, 6, 13, dtype=torch.float64)
    weights = softmax_weights(torch.stack([gaps, torch.zeros_like(gaps)], -1))[:, 0]
    points = tuple((float(gap), exactly(float(weight))) for gap, weight in zip(gaps, weights, strict=True))
    return LinePlot("Two keys: the larger score's weight", "gap of the scores", "weight", (Series("softmax", points),))


def holds(numbers: Numbers) -> bool:
    return (
        numbers["smallest_weight"].value > 0
        and numbers["furthest_from_1"].value <= ROUNDING
        and numbers["out_of_order"].value == 0
        and numbers["error_of_log_ratio"].value <= ROUNDING * LARGEST
    )


def fails(numbers: Numbers) -> bool:
    """No part of it is left."""
    return (
        numbers["smallest_weight"].value <= 0
        and numbers["furthest_from_1"].value > ROUNDING
        and numbers["out_of_order"].value > 0
    )


CLAIM = Claim(
    name="softmax",
    statement="Softmax makes scores positive, has them sum to 1, keeps their order, and makes large gaps larger.",
    if_true="Over many random rows every weight is above 0, every sum is 1 to rounding, no two weights stand in "
    "another order than their scores, and two weights differ by the factor e^gap.",
    if_false="Some row has a weight of 0 or less, another sum, or another order.",
    control="The same scores divided by their sum, which is the simplest thing that sums to 1.",
    measure=measure,
    rule=VerdictRule(
        "all weights are above 0, all sums 1 to rounding, no pair is out of order, and all ratios e^gap to rounding",
        "some weight is not positive, some sum is not 1 and some pair is out of order",
        holds,
        fails,
    ),
    seeds=1,
    full_seeds=1,
)
