"""Does a model learn little text by heart, a large one more than a small one?"""

from __future__ import annotations

from typing import NamedTuple

from regard.claims.claim import Claim, Numbers, VerdictRule
from regard.claims.estimates import Estimate, difference, mean_of
from regard.claims.lab.fit import Fit
from regard.claims.lab.language_task import fit_rows, language_task, rate_for, rows_loss, small_decoder
from regard.claims.lab.variants import MARGIN, by_variant, mean
from regard.claims.measurement import LinePlot, Measurement, ResultTable, Series
from regard.claims.setting import Setting

DIMS, FULL_DIMS = (8, 32, 96), (32, 128, 384)
LITTLE, MUCH = 200, 16_000  # rows of text
STEPS, FULL_STEPS = 300, 500
LOOKED = 200  # rows learned from, whose loss at the end is shown


class Case(NamedTuple):
    dim: int
    little: bool


class Outcome(NamedTuple):
    """What one training shows, in nats a word."""

    train: float  # at the end, on what was read
    valid: tuple[float, ...]  # on what was not, as training goes on

    @property
    def final(self) -> float:
        return self.valid[-1]

    @property
    def lowest(self) -> float:
        return min(self.valid)

    @property
    def rise(self) -> float:
        """How much worse than it once was on what it has not read."""
        return self.final - self.lowest


def run(setting: Setting, case: tuple[Case, int]) -> Outcome:
    (dim, little), seed = case
    task = language_task(setting)
    task = task.part(LITTLE if little else MUCH, seed)
    model = small_decoder(task, seed, dim, setting.quick_or_full(2, 4))
    steps, batch = setting.quick_or_full((STEPS, 32), (FULL_STEPS, 64))
    valid = fit_rows(model, task, Fit(steps, batch, rate_for(dim), seed, setting.device))
    return Outcome(rows_loss(model, task.train[:LOOKED], setting.device), tuple(valid))


Results = dict[Case, list[Outcome]]


def measure(setting: Setting) -> Measurement:
    dims = setting.quick_or_full(DIMS, FULL_DIMS)
    results = by_variant(setting, run, [Case(dim, little) for little in (True, False) for dim in dims])
    numbers = {
        "rise": mean(results[Case(dims[-1], True)], "rise"),
        "rise_by_size": more_rise(results, Case(dims[-1], True), Case(dims[0], True)),
        "rise_by_text": more_rise(results, Case(dims[-1], True), Case(dims[-1], False)),
    }
    return Measurement(numbers, tables_of(results), plot_of(setting, results, dims[-1]), REMARKS)


def more_rise(results: Results, case: Case, control: Case) -> Estimate:
    """Seed by seed."""
    return difference([one.rise for one in results[case]], [one.rise for one in results[control]])


def tables_of(results: Results) -> tuple[ResultTable, ...]:
    columns = ("numbers a word", "trained", "not read, lowest", "not read, at the end", "rise")
    names = ("train", "lowest", "final", "rise")
    return tuple(
        ResultTable(
            f"{LITTLE if little else MUCH:,} rows of text",
            columns,
            tuple(
                (case.dim, *(mean(ones, name) for name in names))
                for case, ones in results.items()
                if case.little == little
            ),
        )
        for little in (True, False)
    )


def plot_of(setting: Setting, results: Results, dim: int) -> LinePlot:
    """The largest model's loss on what it has not read, as training goes on."""
    steps = setting.quick_or_full(STEPS, FULL_STEPS)

    def curve(little: bool) -> Series:
        columns = list(zip(*(one.valid for one in results[Case(dim, little)]), strict=True))
        points = tuple((steps * at / len(columns), mean_of(column)) for at, column in enumerate(columns, 1))
        return Series(f"{LITTLE if little else MUCH:,} rows", points)

    title = "The largest model on text that it has not read"
    return LinePlot(title, "steps", "nats a word", (curve(True), curve(False)))


REMARKS = (
    "Decoders that say the next word, without dropout. A rise is how much higher the loss on text that was not read "
    "is at the end than when it was lowest.",
    "The learning rate falls with the root of the width.",
)


def holds(numbers: Numbers) -> bool:
    return all(one.above(MARGIN) for one in numbers.values())


def fails(numbers: Numbers) -> bool:
    return numbers["rise"].below(MARGIN)


CLAIM = Claim(
    name="overfit",
    statement="On little text a large model learns by heart: it gets worse on what it has not read, and the larger it "
    "is, the worse.",
    if_true="On little text the loss of the largest model falls to almost nothing on what it reads, and on other text "
    "first falls and then rises, more than a small model's.",
    if_false="What a large model has learned serves it on other text too: its loss there falls as long as it learns.",
    control="The smallest model on the same text, and the same model on much text for as many steps.",
    measure=measure,
    rule=VerdictRule(
        f"the largest model's loss on other text surely rises by more than {MARGIN:g} nats a word, and surely by that "
        "much more than the smallest's, and than with much text",
        f"it surely rises by less than {MARGIN:g}",
        holds,
        fails,
    ),
    data=("wikitext-2",),
)
