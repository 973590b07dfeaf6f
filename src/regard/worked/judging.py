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

from regard.worked.chain import Chain
from regard.worked.reading import STEPS, Statement, Written


class Cell(NamedTuple):
    """One number's place, counted from 0."""

    step: str
    row: int
    column: int


class Said(NamedTuple):
    """One number somebody wrote, and where."""

    cell: Cell
    written: Written


@dataclass(frozen=True)
class Verdict:
    """What became of every number under one assumption of what is true."""

    truth: Mapping[str, Tensor]
    right: tuple[Said, ...]
    wrong: tuple[Said, ...]
    carried: Mapping[Said, tuple[Cell, ...]]  # a number that is off, and the mistakes it follows from
    uneven: tuple[int, ...]  # rows of weights that do not sum to 1
    unevenness: float  # how far they are from it, as written

    @property
    def cost(self) -> tuple[int, int, float]:
        """Fewer mistakes explain more; then fewer numbers that had to follow from them."""
        return len({said.cell for said in self.wrong}) + len(self.uneven), len(self.carried), round(self.unevenness, 9)


@dataclass(frozen=True)
class Sayings:
    """Everything stated, in the order of the steps."""

    chain: Chain
    statements: tuple[Statement, ...]
    sizes: Mapping[str, tuple[int, int]] = field(init=False)
    said: tuple[Said, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", tuple(self.in_order()))
        object.__setattr__(self, "sizes", {step: (self.chain.rows(step), self.width(step)) for step in STEPS})

    def width(self, step: str) -> int:
        """As many columns as are given or spoken of: those of q and k, and those of v and output, are the same."""
        if step in ("scores", "scaled", "weights"):
            return self.chain.keys
        alike = ("q", "k") if step in ("q", "k") else ("v", "output")
        derived = self.chain.follow({}, over=False)
        told = [column + 1 for s in self.statements if s.step in alike for _, column in s.cells]
        return max([*(derived[name].shape[1] for name in alike if name in derived), *told], default=0)

    def __iter__(self) -> Iterator[Said]:
        return iter(self.said)

    def in_order(self) -> Iterator[Said]:
        for step in STEPS:
            for told in self.statements:
                if told.step == step:
                    for (row, column), written in told.cells.items():
                        yield Said(Cell(step, row, column), written)

    def table(self, said: Iterable[Said], truth: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Numbers laid out as matrices, NaN where nothing is said; later ones win."""
        tables: dict[str, Tensor] = {}
        for (step, row, column), written in said:
            if step not in tables:
                shape = truth[step].shape if step in truth else self.sizes[step]
                tables[step] = torch.full(shape, float("nan"), dtype=torch.float64)
            tables[step][row, column] = written.value
        return tables

    def truth(self, assumed: Mapping[Cell, float]) -> dict[str, Tensor]:
        """All that follows from what is given; the assumed numbers stand in where nothing does."""
        tables: dict[str, Tensor] = {}
        for cell, value in assumed.items():
            if cell.step not in tables:
                tables[cell.step] = torch.full(self.sizes[cell.step], float("nan"), dtype=torch.float64)
            tables[cell.step][cell.row, cell.column] = value
        return self.chain.follow(tables, over=False)


def judge(sayings: Sayings, assumed: Mapping[Cell, float]) -> Verdict:
    """Compare every number with what follows from the given ones and from the assumed ones."""
    truth = sayings.truth(assumed)
    doubt = doubts(sayings, assumed, truth)
    right: list[Said] = []
    wrong: list[Said] = []
    carried: dict[Said, tuple[Cell, ...]] = {}
    for step in STEPS:
        of_step = [said for said in sayings if said.cell.step == step]
        if not of_step:
            continue
        followed = follow(sayings, truth, step, right)
        for said in of_step:
            true, slack = at(truth, said.cell), at(doubt, said.cell, 0.0)
            rounded = at(followed, said.cell, true)
            if among(said.written, [true, rounded], slack):
                right.append(said)
            else:
                source = sources(sayings, truth, said, (right, wrong, carried), slack + abs(rounded - true))
                carried.update({said: source}) if source else wrong.append(said)
    uneven, unevenness = uneven_rows(sayings, assumed, right, truth)
    return Verdict(truth, tuple(right), tuple(wrong), carried, uneven, unevenness)


def follow(sayings: Sayings, truth: Mapping[str, Tensor], step: str, said: Iterable[Said]) -> dict[str, Tensor]:
    """What `step` comes out as when the numbers before it are taken as they were written."""
    before = STEPS[: STEPS.index(step)]
    known = sayings.chain.follow(sayings.table([s for s in said if s.cell.step in before], truth), over=True)
    derived = sayings.chain.derive(step, known)
    return {} if derived is None else {step: derived}


def sources(
    sayings: Sayings,
    truth: Mapping[str, Tensor],
    said: Said,
    so_far: tuple[list[Said], list[Said], dict[Said, tuple[Cell, ...]]],
    slack: float,
) -> tuple[Cell, ...]:
    """The earlier mistakes that this number follows from, if it does."""
    right, wrong, carried = so_far
    trials = [([mistake], [later for later, of in carried.items() if mistake.cell in of]) for mistake in wrong]
    if len(wrong) > 1:
        trials.append((wrong, list(carried)))
    for made, followed in trials:
        # Whoever made the mistake went on from it with full precision (its own last digit is then in doubt), with the
        # rounded numbers, or with something between.
        ways = [[*right, *made, *followed], *([shifted(mistake, side) for mistake in made] for side in (-1, 0, 1))]
        outcomes = [at(follow(sayings, truth, said.cell.step, way), said.cell) for way in ways]
        if among(said.written, outcomes, slack):
            return tuple(dict.fromkeys(mistake.cell for mistake in made))
    return ()


def shifted(said: Said, side: int) -> Said:
    """The same number as it may have been before it was rounded."""
    return Said(said.cell, replace(said.written, value=said.written.value + side * said.written.doubt))


def among(written: Written, numbers: list[float], slack: float) -> bool:
    """Does it stand for one of these numbers, or for one between them?"""
    lowest, highest = min(numbers), max(numbers)
    return lowest <= written.value <= highest or any(written.stands_for(end, slack) for end in (lowest, highest))


def doubts(sayings: Sayings, assumed: Mapping[Cell, float], truth: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """How far each number may be off because the assumed ones were themselves rounded."""
    total = {step: torch.zeros_like(truth[step]) for step in STEPS if step in truth}
    roundings = {said.cell: said.written.doubt for said in sayings if said.cell in assumed and said.written.doubt}
    for cell, rounding in roundings.items():
        moved = sayings.truth({**assumed, cell: assumed[cell] + rounding})
        for step in total:
            if step != cell.step:  # an assumed number is compared with what was written, not with itself
                total[step] += (moved[step] - truth[step]).abs()
    return total


def uneven_rows(
    sayings: Sayings, assumed: Mapping[Cell, float], right: Iterable[Said], truth: Mapping[str, Tensor]
) -> tuple[tuple[int, ...], float]:
    """Rows of weights known only from what is stated that, as written, do not sum to 1; and how far off all are."""
    rows, off = [], 0.0
    as_written = {said.cell: said.written.value for said in right}
    for row in range(len(truth.get("weights", ()))):
        cells = [Cell("weights", row, column) for column in range(truth["weights"].shape[1])]
        if not all(cell in assumed for cell in cells):
            continue
        excess = abs(sum(as_written.get(cell, at(truth, cell)) for cell in cells) - 1.0)
        off += excess
        finest = min(said.written.half_unit for said in sayings if said.cell in cells)
        if excess > finest * len(cells) + 1e-9:
            rows.append(row)
    return tuple(rows), off


def at(tables: Mapping[str, Tensor], cell: Cell, otherwise: float = float("nan")) -> float:
    table = tables.get(cell.step)
    if table is None or cell.row >= table.shape[0] or cell.column >= table.shape[1]:
        return otherwise
    return float(table[cell.row, cell.column])
