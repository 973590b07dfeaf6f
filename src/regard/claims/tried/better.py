"""Which family translates best at one size: after a long training, and after one that takes all as much time?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import difference, mean_of
from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.families import BATCH, CONDITIONS, FAMILIES, FULL_BATCH, WORDS, as_read, taught, translator
from regard.claims.lab.fit import Fit, bleu_on, fit, pair_loss
from regard.claims.lab.pair_task import PairBatch, PairTask, batches, pair_task
from regard.claims.lab.timing import Times, in_turns, median_of, median_ratio
from regard.claims.lab.variants import by_variant
from regard.claims.measurement import BarPlot, Measurement, ResultTable
from regard.claims.setting import Setting
from regard.models import Recurrent, Transformer

PAIRS, TESTS = 10_000, 300  # of the quick form
LONG = {"2014": 2_800, "2015": 1_200, "2017": 600}  # steps, after which each knows nearly all of it
FULL_LONG = {"2014": 4_800, "2015": 1_600, "2017": 1_600}
SHORT, FULL_SHORT = 300, 600  # of the Transformer, whose time the others are given
ROUNDS, TIMED = 11, 8  # in which all families are timed in turn, and steps of each in a round
TIMED_RATE = 1e-4  # how fast a model learns changes nothing in how long a step takes
BEFORE = FAMILIES[:2]
MARGIN = 1  # BLEU


class Case(NamedTuple):
    """A family, whether it is trained "long" or "in time", and for how many steps."""

    family: str
    how: str
    steps: int


def task_of(setting: Setting) -> PairTask:
    return pair_task(setting) if setting.full else clause_pairs(PAIRS, 1, TESTS)


def step_times(setting: Setting, seed: int) -> Times[str]:
    """Seconds that a few steps of training take each family, round by round, on the same pairs."""
    task, size = task_of(setting), setting.quick_or_full(BATCH, FULL_BATCH)
    some = [batch.to(setting.device) for batch in islice(batches(task.train, size, seed), TIMED)]
    models = {family: translator(family, task, setting, seed).to(setting.device) for family in FAMILIES}
    return in_turns({family: partial(train_on, model, some) for family, model in models.items()}, ROUNDS, setting)


def train_on(model: Transformer | Recurrent, some: Sequence[PairBatch]) -> None:
    fit(model, iter(some), pair_loss, Fit(len(some), rate=TIMED_RATE))


def steps_in_time(setting: Setting, times: Times[str]) -> dict[str, int]:
    """How many steps each family makes while the Transformer makes those of its short training."""
    short = setting.quick_or_full(SHORT, FULL_SHORT)
    return {one: max(1, round(short * median_ratio(times["2017"], times[one]).value)) for one in FAMILIES}


def run(setting: Setting, case: tuple[Case, int]) -> float:
    """BLEU on sentences kept aside."""
    (family, _, steps), seed = case
    task = task_of(setting)
    model = taught(family, task, setting, seed, steps)
    return bleu_on(model, task, as_read(family, task.test), setting.device)


def measure(setting: Setting) -> Measurement:
    (times,) = setting.each(step_times, setting.seeds[:1])
    steps = {"long": setting.quick_or_full(LONG, FULL_LONG), "in time": steps_in_time(setting, times)}
    results = by_variant(setting, run, [Case(one, how, some[one]) for how, some in steps.items() for one in FAMILIES])
    scores = {(case.how, case.family): ones for case, ones in results.items()}
    numbers = {
        f"gain_over_{one}_{how.replace(' ', '_')}": difference(scores[how, "2017"], scores[how, one])
        for how in steps
        for one in BEFORE
    }
    columns = ("", "steps", "trained long", "ms a step", "steps in time", "in the same time")
    rows = tuple(
        (WORDS[one], steps["long"][one], mean_of(scores["long", one]),
         median_of([1e3 * seconds / TIMED for seconds in times[one]]).value,
         steps["in time"][one], mean_of(scores["in time", one]))
        for one in FAMILIES
    )  # fmt: skip
    bars = tuple((f"{WORDS[one]}, {how}", mean_of(ones)) for (how, one), ones in scores.items())
    plot = BarPlot("Trained long, and in the same time", "BLEU", bars)
    return Measurement(numbers, (ResultTable("BLEU of sentences kept aside", columns, rows),), plot, remarks(setting))


def remarks(setting: Setting) -> tuple[str, ...]:
    timed = (
        f"The same time: that of {setting.quick_or_full(SHORT, FULL_SHORT):,} steps of the Transformer. A step's time "
        f"is the median of {ROUNDS} rounds, in each of which all families are timed in turn on the same pairs."
    )
    return (CONDITIONS, timed) if setting.full else (CONDITIONS, timed, EASY)


EASY = (
    "These sentences are so alike that every family learns nearly all of them, given time: what is left to see is who "
    "learns them sooner. The full form asks on real text, which none of them learns whole."
)


def holds(numbers: Numbers) -> bool:
    return all(one.above(MARGIN) for one in numbers.values())


def fails(numbers: Numbers) -> bool:
    return all(one.below(MARGIN) for one in numbers.values())


CLAIM = Claim(
    name="better",
    statement="The Transformer translates better than the recurrent networks before it, at the same size and in the "
    "same time.",
    if_true="Its BLEU is higher than theirs after a training as long as each wants, and after one that takes all as "
    "much time.",
    if_false="They reach its BLEU both ways.",
    control="As many parameters, the same pairs, and for each family a rate of its own; in the same time a family "
    "whose steps are quicker makes more of them.",
    measure=measure,
    rule=VerdictRule(
        f"both ways its BLEU is surely more than {MARGIN} above that of 2014 and that of 2015",
        f"both ways it is surely less than {MARGIN} above both",
        holds,
        fails,
    ),
    data=("multi30k",),
    tried=(
        "After 400 steps for every family the Transformer had 94 BLEU, that of 2014 11 and that of 2015 16: which "
        "says who has begun to learn, not how well each can.",
    ),
)
