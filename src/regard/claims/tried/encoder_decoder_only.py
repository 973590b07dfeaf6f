"""Of two stacks as large that read the same text, one both ways and one from left to right, which is better at what?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, difference, mean_of, ratio
from regard.claims.lab.fit import Fit
from regard.claims.lab.label_task import label_task
from regard.claims.lab.small_models import parameters
from regard.claims.lab.text_stacks import (
    Lesson,
    StackKind,
    label_fit,
    learn_labels,
    learn_language,
    next_word_loss,
    share_right,
    text_stack,
)
from regard.claims.lab.variants import by_variant
from regard.claims.measurement import BarPlot, Cell, Measurement, ResultTable
from regard.claims.setting import Setting

Name = Literal["decoder", "encoder", "encoder that continues"]
LESSONS: dict[Name, tuple[StackKind, Lesson]] = {
    "decoder": ("decoder", "next"),
    "encoder": ("encoder", "fill"),
    "encoder that continues": ("encoder", "continue"),
}
LABELS = {"1000": 1_000, "all": 10_000_000}
ACCURACY_MARGIN, PERPLEXITY_MARGIN = 1.0, 1.05  # answers in a hundred, times
QUICK, FULL = (500, 32, 3e-3), (800, 64, 1e-3)  # to learn the language: steps, rows a step, highest rate
QUICK_STEPS, FULL_STEPS = {"1000": 150, "all": 300}, {"1000": 250, "all": 600}  # to learn from so many labels


class Outcome(NamedTuple):
    """Of one stack: after so many labels how many answers in a hundred are right, and how well it says next words."""

    shares: dict[str, float]
    nats: float
    next_right: float
    size: int


def run(setting: Setting, case: tuple[Name, int]) -> Outcome:
    (kind, lesson), seed = LESSONS[case[0]], case[1]
    task = label_task(setting, "it")
    stack = text_stack(kind, task, setting, seed)
    steps, batch, rate = setting.quick_or_full(QUICK, FULL)
    learn_language(stack, task, lesson, Fit(steps, batch, rate, seed, setting.device))
    nats, right = next_word_loss(stack, task, setting.device)
    learned = {name: tensor.clone() for name, tensor in stack.state_dict().items()}
    shares = {}
    for name, count in LABELS.items():
        stack.load_state_dict(learned)
        label_steps, label_rate = setting.quick_or_full((QUICK_STEPS[name], 3e-3), (FULL_STEPS[name], 5e-4))
        learn_labels(stack, task.some(count, seed), label_fit(label_steps, label_rate, seed), 32, setting.device)
        shares[name] = 100 * share_right(stack, task.test, setting.device)
    return Outcome(shares, nats, 100 * right, parameters(stack))


def measure(setting: Setting) -> Measurement:
    results = by_variant(setting, run, tuple(LESSONS))
    decoder, encoder = results["decoder"], results["encoder"]
    numbers = {
        f"encoder_gains_with_{name}": difference(shares(encoder, name), shares(decoder, name)) for name in LABELS
    }
    ratios = [ratio(perplexities(results[name]), perplexities(decoder)) for name in LESSONS if name != "decoder"]
    numbers["encoder_perplexity"] = min(ratios, key=lambda one: one.value)
    labels: list[tuple[Cell, ...]] = [
        (name, ones[0].size, *(mean_of(shares(ones, count)) for count in LABELS)) for name, ones in results.items()
    ]
    words: list[tuple[Cell, ...]] = [
        (name, mean_of(perplexities(ones)), mean_of([one.next_right for one in ones])) for name, ones in results.items()
    ]
    tables = (
        ResultTable("Right labels in a hundred", ("", "size", "from 1,000 labels", "from all"), tuple(labels)),
        ResultTable("The next word of other texts", ("", "perplexity", "right in a hundred"), tuple(words)),
    )
    plot = BarPlot("What each gets right", "in a hundred", tuple(bars(results)))
    return Measurement(numbers, tables, plot, remarks(setting))


def shares(outcomes: Sequence[Outcome], name: str) -> list[float]:
    return [one.shares[name] for one in outcomes]


def perplexities(outcomes: Sequence[Outcome]) -> list[float]:
    return [math.exp(one.nats) for one in outcomes]


def bars(results: dict[Name, list[Outcome]]) -> list[tuple[str, Estimate]]:
    labels = [(f"{name}, labels", mean_of(shares(ones, "1000"))) for name, ones in results.items()]
    return labels + [
        (f"{name}, next words", mean_of([one.next_right for one in ones])) for name, ones in results.items()
    ]


def remarks(setting: Setting) -> tuple[str, ...]:
    task = label_task(setting, "it")
    asked = "What the text says" if setting.full else "What “it” means"
    return (
        f"The labels: {asked.lower()}, {' or '.join(task.labels)}. Who always says the commonest is right in "
        f"{task.commonest:.0%}.",
        "Next words: an encoder reads what stands before, and a mask. One that continues has learned just that: each "
        "row was cut somewhere, and asked for one word; a decoder is asked for every word of a row at once.",
    )


def holds(numbers: Numbers) -> bool:
    better = all(numbers[f"encoder_gains_with_{name}"].above(ACCURACY_MARGIN) for name in LABELS)
    return better and numbers["encoder_perplexity"].above(PERPLEXITY_MARGIN)


def fails(numbers: Numbers) -> bool:
    no_better = all(numbers[f"encoder_gains_with_{name}"].below(ACCURACY_MARGIN) for name in LABELS)
    return no_better and numbers["encoder_perplexity"].below(PERPLEXITY_MARGIN)


CLAIM = Claim(
    name="encoder-decoder-only",
    statement="Encoders understand, decoders generate.",
    if_true="A stack that reads both ways and fills in words learns labels better than one that reads from left to "
    "right and says the next word, which in turn says next words better.",
    if_false="Either does the other's work as well.",
    control="The same blocks with the same text, steps and rate; only who may look at whom and what is asked differ. "
    "Beside them an encoder that has learned to continue texts.",
    measure=measure,
    rule=VerdictRule(
        f"with 1,000 labels and with all the encoder surely has over {ACCURACY_MARGIN:g} right answer in a hundred "
        f"more, and the better encoder's perplexity is surely over {PERPLEXITY_MARGIN:g} times the decoder's",
        "neither is so: both gains are surely smaller, and the perplexity is surely less than that",
        holds,
        fails,
    ),
    seeds=4,
    data=("sst2", "wikitext-2"),
)
