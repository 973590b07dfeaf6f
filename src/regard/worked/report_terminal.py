"""What checking found, for a terminal, as rich renderables."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from regard.drawing.figures import figure, fixed
from regard.worked.findings import Findings, Mistake
from regard.worked.judging import Cell


def report_view(report: Findings) -> RenderableType:
    """Each mistake in a line of its own, then what was checked."""
    parts: list[RenderableType] = [Text(report.example.title or report.example.name, style="bold")]
    parts += [mistake_view(report, mistake) for mistake in report.mistakes]
    parts.append(closing(report))
    return Group(*parts)


def mistake_view(report: Findings, mistake: Mistake) -> Text:
    if mistake.column is None:
        return undecided_row_view(report, mistake)
    line = Text.assemble(
        ("  ✗ ", "bold red"), (place(report, Cell(mistake.step, mistake.row, mistake.column)), "bold"),
        ": written ", (mistake.text, "red"), ", should be ", (rounded(mistake), "green"),
    )  # fmt: skip
    if mistake.carried_into:
        where = ", ".join(place(report, cell) for cell in mistake.carried_into)
        line.append(f"\n      carried on into {where}")
    else:
        line.append("; it did not carry on", style="dim")
    if mistake.instead:
        others = " or ".join(f"{place(report, cell)} be {value:g}" for cell, value in mistake.instead)
        line.append(f"\n      nothing decides: {others} would explain it just as well")
    return line


def rounded(mistake: Mistake) -> str:
    """What it should be, with the digits it was written with, or more if those would hide the difference."""
    digits = len(mistake.text.partition(".")[2])
    text = fixed(mistake.correct, digits)
    return text if text != mistake.text else figure(mistake.correct, digits + 2)


def undecided_row_view(report: Findings, mistake: Mistake) -> Text:
    query = report.example.queries[mistake.row]
    line = Text.assemble(
        ("  ✗ ", "bold red"), (f"weights, row of {query}", "bold"), ": sums to ", (mistake.text, "red"), ", should be 1"
    )
    others = " or ".join(f"{place(report, cell)} be {value:g}" for cell, value in mistake.instead)
    return line.append(f"\n      nothing decides which number is wrong: should {others}?")


def place(report: Findings, cell: Cell) -> str:
    """scores (love, I) [1, 0]: the words first, then the numbers the file counts by."""
    example = report.example
    row = (example.tokens if cell.step in ("k", "v") else example.queries)[cell.row]
    column = example.tokens[cell.column] if cell.step in ("scores", "scaled", "weights") else f"column {cell.column}"
    return f"{cell.step} ({row}, {column}) [{cell.row}, {cell.column}]"


def closing(report: Findings) -> Text:
    count = len(report.mistakes)
    verdict = (
        Text("  ✓ no mistakes", style="bold green") if report.ok else Text(f"  {count} mistake{'s' * (count > 1)}")
    )
    verdict.append(f" in {report.checked} numbers", style="dim" if report.ok else "")
    if report.carried:
        verdict.append(f"; {report.carried} more are off only because of them", style="dim")
    if report.unchecked:
        many = len(report.unchecked)
        those, them = ("1 number", "it") if many == 1 else (f"{many} numbers", "them")
        verdict.append(f"\n  {those} could not be checked: nothing is tied to {them}", style="dim")
    return verdict
