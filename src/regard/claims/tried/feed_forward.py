"""What does the feed-forward layer add to attention, and what of it is its non-linearity?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.lab.controls import with_linear_feed_forward, without_feed_forward
from regard.claims.lab.variants import (
    LAYERS,
    MARGIN,
    Learned,
    by_variant,
    guess_remark,
    learned,
    mean,
    more,
    variant_model,
    variant_task,
)
from regard.claims.measurement import BarPlot, Measurement, ResultTable
from regard.claims.setting import Setting


class Variant(NamedTuple):
    """How a model is changed, and how many layers its encoder and decoder have: quick and full."""

    change: Callable[[nn.Module], None]
    quick_layers: tuple[int, int] = LAYERS
    full_layers: tuple[int, int] = LAYERS


def as_it_is(_: nn.Module) -> None:
    """The control."""


WITH, LINEAR, WITHOUT, MORE_ATTENTION = "with it", "linear", "without", "attention instead"
VARIANTS = {
    WITH: Variant(as_it_is),
    LINEAR: Variant(with_linear_feed_forward),
    WITHOUT: Variant(without_feed_forward),
    # A quick layer's feed-forward is as large as an attention, a full one's as two.
    MORE_ATTENTION: Variant(without_feed_forward, (4, 3), (6, 4)),
}
COMPARED = (LINEAR, MORE_ATTENTION)


def run(setting: Setting, case: tuple[str, int]) -> Learned:
    name, seed = case
    task, variant = variant_task(setting), VARIANTS[name]
    model = variant_model(setting, task, seed, setting.quick_or_full(variant.quick_layers, variant.full_layers))
    variant.change(model)
    return learned(setting, model, task, seed)


def measure(setting: Setting) -> Measurement:
    results = by_variant(setting, run, tuple(VARIANTS))
    lost = {name: more(results[name], results[WITH], "loss") for name in VARIANTS if name != WITH}
    rows = tuple(
        (name, ones[0].size, mean(ones, "loss"), lost.get(name, "-"), mean(ones, "bleu"))
        for name, ones in results.items()
    )
    columns = ("feed-forward", "size", "loss", "lost", "BLEU")
    table = ResultTable("Test sentences, after the same number of steps", columns, rows)
    plot = BarPlot("Nats a word more than with it", "nats a word", tuple(lost.items()), ("none", 0.0))
    remarks = (
        guess_remark(variant_task(setting)),
        "Linear: the same two matrices with nothing between. Attention instead: its parameters as further layers "
        "of attention.",
        "Softmax and the layer norms stay, so that no variant is linear as a whole.",
    )
    return Measurement({"linear": lost[LINEAR], "attention_instead": lost[MORE_ATTENTION]}, (table,), plot, remarks)


def holds(numbers: Numbers) -> bool:
    return all(one.above(MARGIN) for one in numbers.values())


def fails(numbers: Numbers) -> bool:
    return all(one.below(MARGIN) for one in numbers.values())


CLAIM = Claim(
    name="feed-forward",
    statement="The feed-forward layer does what attention alone cannot, by its non-linearity.",
    if_true="Without the non-linearity, and with more attention in the layer's place, the model translates worse.",
    if_false="A model as large that has neither translates as well.",
    control="The same model with the layer, from the same seed, on the same batches; both others are as large.",
    measure=measure,
    rule=VerdictRule(
        f"without the non-linearity, and with attention instead, surely more than {MARGIN:g} nats a word are lost",
        f"in both, surely less than {MARGIN:g} are lost",
        holds,
        fails,
    ),
    seeds=5,
    data=("multi30k",),
)
