"""Does one head lose what several heads of the same total size see?"""

from __future__ import annotations

from regard.claims.claim import Claim, Numbers, VerdictRule
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
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

HEADS = (1, 2, 4, 8)
SEVERAL = HEADS[1:]


def run(setting: Setting, case: tuple[int, int]) -> Learned:
    heads, seed = case
    task = variant_task(setting)
    return learned(setting, variant_model(setting, task, seed, heads=heads), task, seed)


def measure(setting: Setting) -> Measurement:
    results = by_variant(setting, run, HEADS)
    gained = {heads: more(results[1], results[heads], "loss") for heads in SEVERAL}
    rows = tuple(
        (heads, ones[0].size, mean(ones, "loss"), gained.get(heads, "-"), mean(ones, "bleu"))
        for heads, ones in results.items()
    )
    columns = ("heads", "size", "loss", "less than 1 head's", "BLEU")
    table = ResultTable("Test sentences, after the same number of steps", columns, rows)
    points = tuple((float(heads), mean(ones, "loss")) for heads, ones in results.items())
    plot = LinePlot("Loss by the number of heads", "heads", "nats a word", (Series("loss", points),), log_x=True)
    remarks = (
        guess_remark(variant_task(setting)),
        "The heads share the same matrices: with more heads each is narrower, and the number of parameters the same.",
    )
    return Measurement({f"gained_by_{heads}": one for heads, one in gained.items()}, (table,), plot, remarks)


def holds(numbers: Numbers) -> bool:
    return all(numbers[f"gained_by_{heads}"].above(MARGIN) for heads in SEVERAL)


def fails(numbers: Numbers) -> bool:
    return all(numbers[f"gained_by_{heads}"].below(MARGIN) for heads in SEVERAL)


CLAIM = Claim(
    name="heads",
    statement="One head cannot capture all that matters in a sentence; several see more.",
    if_true="Split into 2, 4 or 8 heads, the same matrices translate better than as one head.",
    if_false="One wide head translates as well as several narrow ones.",
    control="One head as wide as the others together, from the same seed, on the same batches.",
    measure=measure,
    rule=VerdictRule(
        f"2, 4 and 8 heads each surely gain more than {MARGIN:g} nats a word over one",
        f"2, 4 and 8 heads each surely gain less than {MARGIN:g}",
        holds,
        fails,
    ),
    seeds=5,
    data=("multi30k",),
)
