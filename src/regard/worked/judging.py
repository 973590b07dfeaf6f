"""Is each number that somebody wrote right, wrong, or right but for a mistake made earlier?

A number is right if it rounds to what the inputs give, or lies between that and what the writer's own rounded numbers
give: rounding that carries on is no mistake. It is carried if it follows from an earlier mistake; else it is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from regard.worked.derivation import Derivation
from regard.worked.reading import STEPS, Numeral, Statement


class Cell(NamedTuple):
    """One number's place, counted from 0."""

    step: str
    row: int
    column: int


class WrittenCell(NamedTuple):
    """One number somebody wrote, and where."""

    cell: Cell
    written: Numeral


@dataclass(frozen=True)
class Verdict:
    """What became of every number under one assumption of what is true."""

    correct: Mapping[str, Tensor]
    right: tuple[WrittenCell, ...]
    wrong: tuple[WrittenCell, ...]
    carried: Mapping[WrittenCell, tuple[Cell, ...]]  # a number that is off, and the mistakes it follows from
    uneven: tuple[int, ...]  # rows of weights that do not sum to 1
    unevenness: float  # how far they are from it, as written

    @property
    def cost(self) -> tuple[int, int, float]:
        """Fewer mistakes explain more; then fewer numbers that had to follow from them."""
        mistakes = len({claim.cell for claim in self.wrong}) + len(self.uneven)
        return mistakes, len(self.carried), round(self.unevenness, 9)


@dataclass(frozen=True)
class Claims:
    """Everything stated, in the order of the steps."""

    derivation: Derivation
    statements: tuple[Statement, ...]
    sizes: Mapping[str, tuple[int, int]] = field(init=False)
    in_order: tuple[WrittenCell, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "in_order", tuple(self.sort()))
        object.__setattr__(self, "sizes", {step: (self.derivation.rows(step), self.width(step)) for step in STEPS})

    def width(self, step: str) -> int:
        """As many columns as are given or spoken of: those of q and k, and those of v and output, are the same."""
        if step in ("scores", "scaled", "weights"):
            return self.derivation.keys
        alike = ("q", "k") if step in ("q", "k") else ("v", "output")
        derived = self.derivation.follow({}, over=False)
        columns = [column + 1 for s in self.statements if s.step in alike for _, column in s.cells]
        return max([*(derived[name].shape[1] for name in alike if name in derived), *columns], default=0)

    def __iter__(self) -> Iterator[WrittenCell]:
        return iter(self.in_order)

    def sort(self) -> Iterator[WrittenCell]:
        for step in STEPS:
            for statement in self.statements:
                if statement.step == step:
                    for (row, column), written in statement.cells.items():
                        yield WrittenCell(Cell(step, row, column), written)

    def table(self, claims: Iterable[WrittenCell], correct: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Numbers laid out as matrices, NaN where nothing is said; later ones win."""
        tables: dict[str, Tensor] = {}
        for (step, row, column), written in claims:
            if step not in tables:
                shape = correct[step].shape if step in correct else self.sizes[step]
                tables[step] = torch.full(shape, float("nan"), dtype=torch.float64)
            tables[step][row, column] = written.value
        return tables

    def correct_values(self, assumed: Mapping[Cell, float]) -> dict[str, Tensor]:
        """All that follows from what is given; the assumed numbers stand in where nothing does."""
        tables: dict[str, Tensor] = {}
        for cell, value in assumed.items():
            if cell.step not in tables:
                tables[cell.step] = torch.full(self.sizes[cell.step], float("nan"), dtype=torch.float64)
            tables[cell.step][cell.row, cell.column] = value
        return self.derivation.follow(tables, over=False)


def judge(claims: Claims, assumed: Mapping[Cell, float]) -> Verdict:
    """Compare every number with what follows from the given ones and from the assumed ones."""
    correct = claims.correct_values(assumed)
    doubt = doubts(claims, assumed, correct)
    right: list[WrittenCell] = []
    wrong: list[WrittenCell] = []
    carried: dict[WrittenCell, tuple[Cell, ...]] = {}
    for step in STEPS:
        of_step = [claim for claim in claims if claim.cell.step == step]
        if not of_step:
            continue
        followed = follow(claims, correct, step, right)
        for claim in of_step:
            true, slack = at(correct, claim.cell), at(doubt, claim.cell, 0.0)
            rounded = at(followed, claim.cell, true)
            if among(claim.written, [true, rounded], slack):
                right.append(claim)
            else:
                source = sources(claims, correct, claim, (right, wrong, carried), slack + abs(rounded - true))
                carried.update({claim: source}) if source else wrong.append(claim)
    uneven, unevenness = uneven_rows(claims, assumed, right, correct)
    return Verdict(correct, tuple(right), tuple(wrong), carried, uneven, unevenness)


def follow(
    claims: Claims, correct: Mapping[str, Tensor], step: str, earlier: Iterable[WrittenCell]
) -> dict[str, Tensor]:
    """What `step` comes out as when the numbers before it are taken as they were written."""
    before = STEPS[: STEPS.index(step)]
    written = claims.table([claim for claim in earlier if claim.cell.step in before], correct)
    known = claims.derivation.follow(written, over=True)
    derived = claims.derivation.derive(step, known)
    return {} if derived is None else {step: derived}


def sources(
    claims: Claims,
    correct: Mapping[str, Tensor],
    claim: WrittenCell,
    so_far: tuple[list[WrittenCell], list[WrittenCell], dict[WrittenCell, tuple[Cell, ...]]],
    slack: float,
) -> tuple[Cell, ...]:
    """The earlier mistakes that this number follows from, if it does."""
    right, wrong, carried = so_far
    trials = [([mistake], [later for later, of in carried.items() if mistake.cell in of]) for mistake in wrong]
    if len(wrong) > 1:
        trials.append((wrong, list(carried)))
    for mistakes, followed in trials:
        # Whoever made the mistake went on from it with full precision (its own last digit is then in doubt), with the
        # rounded numbers, or with something between.
        shifts = ([shifted(mistake, side) for mistake in mistakes] for side in (-1, 0, 1))
        ways = [[*right, *mistakes, *followed], *shifts]
        outcomes = [at(follow(claims, correct, claim.cell.step, way), claim.cell) for way in ways]
        if among(claim.written, outcomes, slack):
            return tuple(dict.fromkeys(mistake.cell for mistake in mistakes))
    return ()


def shifted(claim: WrittenCell, side: int) -> WrittenCell:
    """The same number as it may have been before it was rounded."""
    return WrittenCell(claim.cell, replace(claim.written, value=claim.written.value + side * claim.written.doubt))


def among(written: Numeral, numbers: list[float], slack: float) -> bool:
    """Does it stand for one of these numbers, or for one between them?"""
    lowest, highest = min(numbers), max(numbers)
    return lowest <= written.value <= highest or any(written.stands_for(end, slack) for end in (lowest, highest))


def doubts(claims: Claims, assumed: Mapping[Cell, float], correct: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """How far each number may be off because the assumed ones were themselves rounded."""
    total = {step: torch.zeros_like(correct[step]) for step in STEPS if step in correct}
    roundings = {claim.cell: claim.written.doubt for claim in claims if claim.cell in assumed and claim.written.doubt}
    for cell, rounding in roundings.items():
        moved = claims.correct_values({**assumed, cell: assumed[cell] + rounding})
        for step in total:
            if step != cell.step:  # an assumed number is compared with what was written, not with itself
                total[step] += (moved[step] - correct[step]).abs()
    return total


def uneven_rows(
    claims: Claims, assumed: Mapping[Cell, float], right: Iterable[WrittenCell], correct: Mapping[str, Tensor]
) -> tuple[tuple[int, ...], float]:
    """Rows of weights known only from what is stated that, as written, do not sum to 1; and how far off all are."""
    rows, off = [], 0.0
    as_written = {claim.cell: claim.written.value for claim in right}
    for row in range(len(correct.get("weights", ()))):
        cells = [Cell("weights", row, column) for column in range(correct["weights"].shape[1])]
        if not all(cell in assumed for cell in cells):
            continue
        excess = abs(sum(as_written.get(cell, at(correct, cell)) for cell in cells) - 1.0)
        off += excess
        finest = min(claim.written.half_unit for claim in claims if claim.cell in cells)
        if excess > finest * len(cells) + 1e-9:
            rows.append(row)
    return tuple(rows), off


def at(tables: Mapping[str, Tensor], cell: Cell, otherwise: float = float("nan")) -> float:
    table = tables.get(cell.step)
    if table is None or cell.row >= table.shape[0] or cell.column >= table.shape[1]:
        return otherwise
    return float(table[cell.row, cell.column])
