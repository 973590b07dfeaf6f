"""Which number is the wrong one, when the inputs are not given and the written ones contradict each other?

The explanation with the fewest mistakes: every number that had to be taken on trust is tried with the values that
would reconcile it with the others, and the best repair is kept for as long as it explains more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from regard.worked.judging import Cell, Claims, Verdict, WrittenCell, at, judge
from regard.worked.reading import STEPS

CLUES = 4  # contradictions tried for each repair, for time's sake: those after the first few rarely say more


@dataclass(frozen=True)
class Repair:
    """One number taken on trust, read as another, and what becomes of the rest."""

    cell: Cell
    value: float
    verdict: Verdict


@dataclass(frozen=True)
class Explanation:
    """The verdict with the fewest mistakes, and the repairs that explain as much by another number."""

    claims: Claims
    assumed: Mapping[Cell, float]
    verdict: Verdict
    rivals: tuple[Repair, ...] = ()
    chosen: Repair | None = None  # the repair these rival; None: they rival the numbers as first written

    @property
    def undecided_row(self) -> int | None:
        """The row of weights of which only the sum is known to be wrong."""
        if self.chosen is None or not self.rivals:
            return None
        cells = [self.chosen.cell, *(rival.cell for rival in self.rivals)]
        same = all(cell.step == "weights" and cell.row == self.chosen.cell.row for cell in cells)
        return self.chosen.cell.row if same else None


def explain(claims: Claims) -> Explanation:
    """The reading of the numbers that needs the fewest mistakes."""
    assumed = on_trust(claims)
    best = judge(claims, assumed)
    explanation = Explanation(claims, assumed, best)
    repaired: set[Cell] = set()
    while assumed and (best.wrong or best.uneven):
        repairs = [
            Repair(cell, value, judge(claims, {**assumed, cell: value}))
            for cell, value in candidates(claims, assumed, best)
            if cell not in repaired
        ]
        lowest = min((repair.verdict.cost for repair in repairs), default=best.cost)
        level = [repair for repair in repairs if repair.verdict.cost == lowest]
        if lowest >= best.cost:
            if not repaired and lowest == best.cost:
                explanation = Explanation(claims, assumed, best, one_a_cell(level))
            break
        chosen = level[0]
        best, assumed = chosen.verdict, {**assumed, chosen.cell: chosen.value}
        repaired.add(chosen.cell)
        rivals = one_a_cell([repair for repair in level if repair.cell != chosen.cell])
        explanation = Explanation(claims, assumed, best, rivals, chosen)
    return explanation


def one_a_cell(repairs: list[Repair]) -> tuple[Repair, ...]:
    first: dict[Cell, Repair] = {}
    for repair in repairs:
        first.setdefault(repair.cell, repair)
    return tuple(first.values())


def on_trust(claims: Claims) -> dict[Cell, float]:
    """Every stated number that nothing given or stated before leads to, as it was first written."""
    assumed: dict[Cell, float] = {}
    for step in STEPS:
        correct = claims.correct_values(assumed)
        for cell, written in claims:
            if cell.step == step and cell not in assumed and math.isnan(at(correct, cell)):
                assumed[cell] = written.value
    return assumed


def candidates(claims: Claims, assumed: Mapping[Cell, float], verdict: Verdict) -> Iterator[tuple[Cell, float]]:
    """Other values for the numbers on trust, each of which would settle at least one contradiction."""
    clues = [*verdict.wrong, *verdict.carried]
    for cell, value in assumed.items():
        digits = decimals(claims, cell)
        later = [clue for clue in clues if STEPS.index(clue.cell.step) > STEPS.index(cell.step)][:CLUES]
        values = [claim.written.value for claim in claims if claim.cell == cell]
        if cell.step == "weights" and cell.row in verdict.uneven:
            rest = float(verdict.correct["weights"][cell.row].sum()) - value
            values.append(1.0 - rest)
        values += [solved for clue in later if (solved := solve(claims, assumed, cell, clue)) is not None]
        tried = {value}
        for other in values:
            # A whole number stands for itself; one with decimals may be the rounding of a finer one.
            for reading in (round(other, digits), other)[: 1 if digits == 0 else 2]:
                if reading not in tried:
                    tried.add(reading)
                    yield cell, reading


def decimals(claims: Claims, cell: Cell) -> int:
    """How many decimals this number was written with."""
    return max(round(-math.log10(2 * claim.written.half_unit)) for claim in claims if claim.cell == cell)


def solve(claims: Claims, assumed: Mapping[Cell, float], cell: Cell, clue: WrittenCell) -> float | None:
    """The value of `cell` from which `clue` would follow, by the secant method; None if there is none."""

    def off(value: float) -> float:
        return at(claims.correct_values({**assumed, cell: value}), clue.cell) - clue.written.value

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
