"""Are separate matrices for query, key and value needed, or do tied ones do, or the vectors as they are?"""

from __future__ import annotations

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.lab.controls import PROJECTED, with_projections, with_wider_feed_forward
from regard.claims.lab.variants import (
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

SEPARATE, DIRECT = "separate", "embeddings directly"
TIED = tuple(kind for kind in PROJECTED if kind != SEPARATE)


def run(setting: Setting, case: tuple[str, int]) -> Learned:
    kind, seed = case
    task = variant_task(setting)
    model = variant_model(setting, task, seed)
    with_projections(model, kind)
    with_wider_feed_forward(model, kind)
    return learned(setting, model, task, seed)


def measure(setting: Setting) -> Measurement:
    results = by_variant(setting, run, tuple(PROJECTED))
    lost = {kind: more(results[kind], results[SEPARATE], "loss") for kind in TIED}
    rows = tuple(
        (kind, ones[0].size, mean(ones, "loss"), lost.get(kind, "-"), mean(ones, "bleu"))
        for kind, ones in results.items()
    )
    table = ResultTable(
        "Test sentences, after the same number of steps", ("query, key, value", "size", "loss", "lost", "BLEU"), rows
    )
    plot = BarPlot("Nats a word more than with separate matrices", "nats a word", tuple(lost.items()), ("none", 0.0))
    remarks = (
        guess_remark(variant_task(setting)),
        "What tying saves goes to the feed-forward layers: all are equally large. The matrix after the heads stays.",
        "A head reads its own slice of the vectors even where no matrix has made it.",
    )
    return Measurement(lost, (table,), plot, remarks)


def holds(numbers: Numbers) -> bool:
    return all(numbers[kind].above(MARGIN) for kind in TIED)


def fails(numbers: Numbers) -> bool:
    return numbers[DIRECT].below(MARGIN)


CLAIM = Claim(
    name="qkv",
    statement="Query, key and value each need a matrix of their own: the embeddings themselves will not do.",
    if_true="With one matrix for query and key, with one for key and value, and with none at all, the same model "
    "translates worse.",
    if_false="The vectors as they are serve as well.",
    control="The same model with three matrices, from the same seed, on the same batches, with as many parameters.",
    measure=measure,
    rule=VerdictRule(
        f"every tying, and no matrix at all, surely costs more than {MARGIN:g} nats a word",
        f"no matrix at all surely costs less than {MARGIN:g} nats a word",
        holds,
        fails,
    ),
    seeds=5,
    data=("multi30k",),
)
