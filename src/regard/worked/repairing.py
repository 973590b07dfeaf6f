"""Which number is the wrong one, when the inputs are not given and the written ones contradict each other?

The explanation with the fewest mistakes: every number that had to be taken on trust is tried with the values that
would reconcile it with the others, and the best trial is kept for as long as it explains more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regard.worked.judging import Cell, Said, Sayings, Verdict, at, judge
from regard.worked.reading import STEPS

CLUES = 4  # contradictions tried for each repair, for time's sake: those after the first few rarely say more


@dataclass(frozen=True)
class Trial:
    """One number taken on trust, read as another, and what becomes of the rest."""

    cell: Cell
    value: float
    verdict: Verdict


@dataclass(frozen=True)
class Explanation:
    """The verdict with the fewest mistakes, and the trials that explain as much by another number."""

    sayings: Sayings
    assumed: Mapping[Cell, float]
    verdict: Verdict
    rivals: tuple[Trial, ...] = ()
    chosen: Trial | None = None  # the trial these rival; None: they rival the numbers as first written

    @property
    def undecided_row(self) -> int | None:
        """The row of weights of which only the sum is known to be wrong."""
        if self.chosen is None or not self.rivals:
            return None
        cells = [self.chosen.cell, *(rival.cell for rival in self.rivals)]
        same = all(cell.step == "weights" and cell.row == self.chosen.cell.row for cell in cells)
        return self.chosen.cell.row if same else None


def explain(sayings: Sayings) -> Explanation:
    """The reading of the numbers that needs the fewest mistakes."""
    assumed = on_trust(sayings)
    best = judge(sayings, assumed)
    explanation = Explanation(sayings, assumed, best)
    repaired: set[Cell] = set()
    while assumed and (best.wrong or best.uneven):
        trials = [
            Trial(cell, value, judge(sayings, {**assumed, cell: value}))
            for cell, value in repairs(sayings, assumed, best)
            if cell not in repaired
        ]
        lowest = min((trial.verdict.cost for trial in trials), default=best.cost)
        level = [trial for trial in trials if trial.verdict.cost == lowest]
        if lowest >= best.cost:
            if not repaired and lowest == best.cost:
                explanation = Explanation(sayings, assumed, best, one_a_cell(level))
            break
        chosen = level[0]
        best, assumed = chosen.verdict, {**assumed, chosen.cell: chosen.value}
        repaired.add(chosen.cell)
        rivals = one_a_cell([trial for trial in level if trial.cell != chosen.cell])
        explanation = Explanation(sayings, assumed, best, rivals, chosen)
    return explanation


def one_a_cell(trials: list[Trial]) -> tuple[Trial, ...]:
    first: dict[Cell, Trial] = {}
    for trial in trials:
        first.setdefault(trial.cell, trial)
    return tuple(first.values())


def on_trust(sayings: Sayings) -> dict[Cell, float]:
    """Every stated number that nothing given or stated before leads to, as it was first written."""
    assumed: dict[Cell, float] = {}
    for step in STEPS:
        truth = sayings.truth(assumed)
        for cell, written in sayings:
            if cell.step == step and cell not in assumed and math.isnan(at(truth, cell)):
                assumed[cell] = written.value
    return assumed


def repairs(sayings: Sayings, assumed: Mapping[Cell, float], verdict: Verdict) -> Iterator[tuple[Cell, float]]:
    """Other values for the numbers on trust, each of which would settle at least one contradiction."""
    clues = [*verdict.wrong, *verdict.carried]
    for cell, value in assumed.items():
        digits = decimals(sayings, cell)
        later = [clue for clue in clues if STEPS.index(clue.cell.step) > STEPS.index(cell.step)][:CLUES]
        found = [said.written.value for said in sayings if said.cell == cell]
        if cell.step == "weights" and cell.row in verdict.uneven:
            rest = float(verdict.truth["weights"][cell.row].sum()) - value
            found.append(1.0 - rest)
        found += [solved for clue in later if (solved := solve(sayings, assumed, cell, clue)) is not None]
        tried = {value}
        for other in found:
            # A whole number stands for itself; one with decimals may be the rounding of a finer one.
            for reading in (round(other, digits), other)[: 1 if digits == 0 else 2]:
                if reading not in tried:
                    tried.add(reading)
                    yield cell, reading


def decimals(sayings: Sayings, cell: Cell) -> int:
    """How many decimals this number was written with."""
    return max(round(-math.log10(2 * said.written.half_unit)) for said in sayings if said.cell == cell)


def solve(sayings: Sayings, assumed: Mapping[Cell, float], cell: Cell, clue: Said) -> float | None:
    """The value of `cell` from which `clue` would follow, by the secant method; None if there is none."""

    def off(value: float) -> float:
        return at(sayings.truth({**assumed, cell: value}), clue.cell) - clue.written.value

    before = assumed[cell]
    now = before + 1e-3 * max(1.0, abs(before))
    off_before, off_now = off(before), off(now)
    for _ in range(30):
        if abs(off_now) < 1e-12:
            break
        slope = (off_now - off_before) / (now - before)
        if slope == 0 or not math.isfinite(slope):
            return None
        before, off_before, now = now, off_now, now - off_now / slope
        off_now = off(now)
        if now == before:
            break
    return now if math.isfinite(now) and abs(off_now) < 1e-6 else None
