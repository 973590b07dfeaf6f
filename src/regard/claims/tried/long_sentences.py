"""What is left of a translation when sentences are longer: with one vector for all of it, and with attention."""

from __future__ import annotations

from itertools import pairwise

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import difference, mean_of
from regard.claims.lab.clauses import DATES, clause_pairs
from regard.claims.lab.families import CONDITIONS, FAMILIES, WORDS, as_read, taught
from regard.claims.lab.fit import bleu_on
from regard.claims.lab.pair_task import PairIds, PairTask, pair_task
from regard.claims.lab.variants import by_variant
from regard.claims.measurement import Cell, LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

PAIRS, CLAUSES, TESTS = 10_000, 4, 300  # of the quick form: to learn from, the most clauses, to be asked
GROUPS = 5  # of real sentences by length, each as large
STEPS = {"2014": 1_000, "2015": 350, "2017": 350}  # the one of 2014 learns far more slowly, and is given more
FULL_STEPS = {"2014": 2_400, "2015": 800, "2017": 800}
MARGIN = 0.1  # of the BLEU of short sentences
Groups = tuple[tuple[PairIds, ...], ...]


def task_of(setting: Setting) -> PairTask:
    return pair_task(setting) if setting.full else clause_pairs(PAIRS, CLAUSES, TESTS, DATES)


def groups_of(setting: Setting, task: PairTask) -> Groups:
    """What nobody has learned from, in groups of one size, the shortest sources first."""
    aside = sorted((*task.valid, *task.test), key=lambda pair: len(pair.source))
    count = setting.quick_or_full(CLAUSES, GROUPS)
    edges = [len(aside) * number // count for number in range(count + 1)]
    return tuple(tuple(aside[low:high]) for low, high in pairwise(edges))


def run(setting: Setting, case: tuple[str, int]) -> tuple[float, ...]:
    """BLEU of each group."""
    family, seed = case
    task = task_of(setting)
    model = taught(family, task, setting, seed, setting.quick_or_full(STEPS, FULL_STEPS)[family])
    return tuple(bleu_on(model, task, as_read(family, group), setting.device) for group in groups_of(setting, task))


def share_kept(scores: tuple[float, ...]) -> float:
    """Of the BLEU of the shortest, how much the longest have; a BLEU below 1 is as good as 1."""
    return scores[-1] / max(scores[0], 1.0)


def measure(setting: Setting) -> Measurement:
    results = by_variant(setting, run, FAMILIES)
    groups = groups_of(setting, task_of(setting))
    lengths = [sum(len(pair.source) for pair in group) / len(group) for group in groups]
    shares = {family: [share_kept(scores) for scores in ones] for family, ones in results.items()}
    by_group = {
        family: [mean_of([scores[group] for scores in ones]) for group in range(len(groups))]
        for family, ones in results.items()
    }
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (WORDS[family], *by_group[family], mean_of(shares[family])) for family in FAMILIES
    )
    columns = ("BLEU of sentences of", *(f"{length:.0f} words" for length in lengths), "last over first")
    plot = LinePlot(
        "BLEU by the length of sentences", "words", "BLEU",
        tuple(Series(WORDS[one], tuple(zip(lengths, by_group[one], strict=True))) for one in FAMILIES),
    )  # fmt: skip
    numbers = {f"more_kept_by_{family}": difference(shares[family], shares["2014"]) for family in FAMILIES[1:]}
    steps = ", ".join(f"{count:,} steps ({name})" for name, count in setting.quick_or_full(STEPS, FULL_STEPS).items())
    remarks = (CONDITIONS, f"Trained for {steps}, on sentences of all these lengths.")
    return Measurement(numbers, (ResultTable("Sentences kept aside", columns, rows),), plot, remarks)


def holds(numbers: Numbers) -> bool:
    return all(one.above(MARGIN) for one in numbers.values())


def fails(numbers: Numbers) -> bool:
    return all(one.below(MARGIN) for one in numbers.values())


CLAIM = Claim(
    name="long-sentences",
    statement="A translator that squeezes the sentence into one vector loses long sentences; with attention they are "
    "translated as well as short ones.",
    if_true="From short to long sentences the one of 2014 loses much of its BLEU, those of 2015 and 2017 little.",
    if_false="All lose about as much of it.",
    control="The same sentences, as many parameters; attention is what the one of 2014 has not.",
    measure=measure,
    rule=VerdictRule(
        f"of the BLEU of the shortest, the longest surely keep {MARGIN:g} more with attention, in 2015 and in 2017",
        f"in both it is surely less than {MARGIN:g} more",
        holds,
        fails,
    ),
    data=("multi30k",),
)
