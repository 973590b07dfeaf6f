"""Check an example worked by hand: every wrong number once, with what it should be and where it went on to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.drawing.plain import as_text
from regard.errors import InputError, ShapeError
from regard.worked import examples
from regard.worked.derivation import Derivation
from regard.worked.findings import Findings, Mistake
from regard.worked.judging import Cell, Claims, WrittenCell, at
from regard.worked.reading import Example, Statement, read_example, read_file
from regard.worked.repairing import Explanation, explain
from regard.worked.report_terminal import report_view


@dataclass(frozen=True)
class Report(Findings):
    """What checking found; empty `mistakes` means that every number checked is right."""

    def __str__(self) -> str:
        return as_text(report_view(self))


def check(source: str | Path | Mapping[str, Any] | Example | None = None, *, example: str | None = None) -> Report:
    """Check a TOML or JSON file, the same thing as a dictionary, or one of the shipped examples by name."""
    if source is None and example is None:
        raise InputError("check needs a file or the name of an example", do=f"examples: {', '.join(examples.names())}")
    if source is not None and example is not None:
        raise InputError("check takes a file or an example, not both", found=f"{source}, {example}", do="leave one out")
    if example is not None:
        return check_example(examples.load(example))
    if isinstance(source, Example):
        return check_example(source)
    if isinstance(source, Mapping):
        return check_example(read_example(source, "example"))
    return check_example(read_file(Path(str(source))))


def check_example(
    example: Example, claims_of: Callable[[Derivation, tuple[Statement, ...]], Claims] = Claims
) -> Report:
    """Recompute everything that can be, and compare. `claims_of` may give claims that know when to stop."""
    if example.heads > 1 or any(matrix.ndim > 2 for matrix in example.matrices.values()):
        raise ShapeError(
            "a hand-worked example has one head", found=f"{example.heads} heads", do="check each by itself"
        )
    if not example.stated:
        raise InputError(
            f"{example.name} states nothing to check",
            do='add [[stated]] blocks: step = "scores", values = [[0, 1], [1, 1]]',
        )
    claims = claims_of(Derivation.of(example), example.stated)
    check_widths(claims)
    explanation = explain(claims)
    verdict = explanation.verdict
    alone = tuple(unconfirmed(claims, explanation))
    judged = len(verdict.right) + len(verdict.wrong) + len(verdict.carried) - len(alone)
    return Report(
        example,
        tuple(mistakes_of(explanation)),
        checked=judged,
        carried=len(verdict.carried),
        unchecked=alone,
    )


def unconfirmed(claims: Claims, explanation: Explanation) -> Iterator[Cell]:
    """Numbers taken on trust that nothing else stated depends on, so that nothing could contradict them."""
    correct = explanation.verdict.correct
    cells = [cell for cell, _ in claims]
    for cell, value in explanation.assumed.items():
        moved = claims.correct_values({**explanation.assumed, cell: value + 1.0})
        tied = any(at(moved, other) != at(correct, other) for other in cells if other != cell)
        whole_row = cell.step == "weights" and not correct["weights"][cell.row].isnan().any()
        if not tied and not whole_row and cells.count(cell) == 1:
            yield cell


def mistakes_of(explanation: Explanation) -> list[Mistake]:
    """One for each wrong cell, in the order of the steps; one for a row whose wrong cell cannot be told."""
    first: dict[Cell, WrittenCell] = {}
    for claim in explanation.verdict.wrong:
        first.setdefault(claim.cell, claim)
    undecided = explanation.undecided_row
    single = [
        mistake(claim, explanation) for cell, claim in first.items() if cell.step != "weights" or cell.row != undecided
    ]
    rows = {*explanation.verdict.uneven, *(() if undecided is None else (undecided,))}
    return single + [row_mistake(row, explanation.claims) for row in sorted(rows)]


def mistake(claim: WrittenCell, explanation: Explanation) -> Mistake:
    cell, written = claim
    chosen, verdict = explanation.chosen, explanation.verdict
    onward = tuple(later.cell for later, sources in verdict.carried.items() if cell in sources)
    rivalled = chosen is None or chosen.cell == cell
    instead = tuple((rival.cell, rival.value) for rival in explanation.rivals) if rivalled else ()
    return Mistake(*cell, written.value, at(verdict.correct, cell), written.text, onward, instead)


def row_mistake(row: int, claims: Claims) -> Mistake:
    """A row that does not sum to 1, when nothing decides which of its cells is wrong: any one of them could be."""
    first: dict[Cell, float] = {}
    for cell, written in claims:
        if cell.step == "weights" and cell.row == row:
            first.setdefault(cell, written.value)
    total = round(sum(first.values()), 12)
    instead = tuple((cell, round(value + 1.0 - total, 12)) for cell, value in first.items())
    return Mistake("weights", row, None, total, 1.0, f"{total:g}", (), instead)


def check_widths(claims: Claims) -> None:
    """A statement wider than its step is a slip of the file, not of the numbers."""
    correct = claims.derivation.follow({}, over=False)
    for (step, row, column), _ in claims:
        if step in correct and column >= correct[step].shape[1]:
            raise ShapeError(
                f"what is stated about {step} is larger than {step}",
                found=f"row {row}, column {column}; {step} has {correct[step].shape[1]} columns by what is given",
                do="rows and columns count from 0",
            )
