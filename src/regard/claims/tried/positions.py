"""What do positions add, and do sinusoids let a model read sentences longer than any it has learned from?"""

from __future__ import annotations

from typing import Any, NamedTuple

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, mean_of
from regard.claims.lab.fit import Fit, bleu_on, fit_pairs
from regard.claims.lab.lengths import LengthTask, length_task
from regard.claims.lab.small_models import small_transformer
from regard.claims.lab.variants import accuracy_on, by_variant
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

SINUSOIDS, LEARNED, NONE, CONTROL = "sinusoids", "learned", "none", "sinusoids, long ones learned"
VARIANTS: dict[str, dict[str, Any]] = {
    SINUSOIDS: {"positions": "sinusoidal"},
    LEARNED: {"positions": "learned", "max_length": 256},  # more than any test needs
    NONE: {"positions": "none"},
    CONTROL: {"positions": "sinusoidal"},
}
STEPS, FULL_STEPS = 400, 1_500
SIZES: dict[str, int] = {}  # as all quick and full forms have
LOST = 0.05  # one word in twenty: less is called no loss


class Outcome(NamedTuple):
    """For each group of tests, shortest first."""

    accuracy: tuple[float, ...]  # how often the right word is thought likeliest after the right words before it
    bleu: tuple[float, ...]  # of greedy translations


def run(setting: Setting, case: tuple[str, int]) -> Outcome:
    name, seed = case
    tests = length_task(setting)
    task = tests.mixed if name == CONTROL else tests.short
    model = small_transformer(task, setting, seed, **SIZES, **VARIANTS[name])
    steps, batch, rate = setting.quick_or_full((STEPS, 32, 3e-3), (FULL_STEPS, 128, 1e-3))
    fit_pairs(model, task, Fit(steps, batch, rate, seed, setting.device))
    return Outcome(
        tuple(accuracy_on(model, group, setting.device) for group in tests.tests),
        tuple(bleu_on(model, task, group, setting.device) for group in tests.tests),
    )


def measure(setting: Setting) -> Measurement:
    tests = length_task(setting)
    results = by_variant(setting, run, tuple(VARIANTS))
    within, longest = range(tests.trained), range(len(tests.tests) - 1, len(tests.tests))
    numbers = {
        "order_gained": more_right(results[SINUSOIDS], results[NONE], within),
        "long_lost": more_right(results[CONTROL], results[SINUSOIDS], longest),
        "long_lost_learned": more_right(results[CONTROL], results[LEARNED], longest),
    }
    return Measurement(numbers, tables_of(results, tests), plot_of(results, tests), REMARKS)


def right(one: Outcome, groups: range) -> float:
    """The accuracy over groups, each counted alike."""
    return sum(one.accuracy[group] for group in groups) / len(groups)


def more_right(first: list[Outcome], second: list[Outcome], groups: range) -> Estimate:
    """Seed by seed."""
    return mean_of([right(one, groups) - right(other, groups) for one, other in zip(first, second, strict=True)])


def tables_of(results: dict[str, list[Outcome]], tests: LengthTask) -> tuple[ResultTable, ...]:
    """Of the tests as short as what was learned from, and of the longest."""
    last = len(tests.tests) - 1
    titles = {
        "Tests no longer than what was learned from": range(tests.trained),
        f"The longest tests, {tests.mean_length(last):.0f} source tokens on average": range(last, last + 1),
    }
    return tuple(
        ResultTable(
            title,
            ("positions", "words right", "BLEU"),
            tuple(
                (
                    name,
                    mean_of([right(one, groups) for one in ones]),
                    mean_of([sum(one.bleu[group] for group in groups) / len(groups) for one in ones]),
                )
                for name, ones in results.items()
            ),
        )
        for title, groups in titles.items()
    )


def plot_of(results: dict[str, list[Outcome]], tests: LengthTask) -> LinePlot:
    curves = tuple(
        Series(
            name,
            tuple(
                (tests.mean_length(group), mean_of([one.accuracy[group] for one in ones]))
                for group in range(len(tests.tests))
            ),
        )
        for name, ones in results.items()
    )
    return LinePlot("Words right by length", "source tokens", "of all words", curves)


REMARKS = (
    "Words right: how often the right word is thought likeliest, after the right words before it.",
    "Learned positions beyond the longest sentence learned from are as chance drew them.",
    "The control has learned from as many sentences, of all lengths. A decoder without positions still counts its "
    "words: it sees how many there are.",
)


def holds(numbers: Numbers) -> bool:
    return numbers["order_gained"].above(LOST) and numbers["long_lost"].below(LOST)


def fails(numbers: Numbers) -> bool:
    return numbers["order_gained"].below(LOST) and numbers["long_lost"].above(LOST)


CLAIM = Claim(
    name="positions",
    statement="Attention needs positions to know the order of words, and sinusoids let it read sentences longer than "
    "any it has learned from.",
    if_true="Without positions far fewer words are right; with sinusoids as many are right in longer sentences as "
    "if these had been learned from.",
    if_false="A model without positions translates as well, or one with sinusoids breaks down on longer sentences.",
    control="For order, the same model with no positions; for length, the same model that has learned from longer "
    "sentences too; the same seeds.",
    measure=measure,
    rule=VerdictRule(
        f"sinusoids surely gain more than {LOST:.0%} of all words over no positions, and on the longest sentences "
        f"surely lose less than {LOST:.0%} against the control",
        f"they surely gain less than {LOST:.0%}, and on the longest sentences surely lose more",
        holds,
        fails,
    ),
    data=("multi30k",),
)
