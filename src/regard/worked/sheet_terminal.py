"""Sheets and reports for a terminal, as rich renderables."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from regard.drawing.figures import column_figures, figure, fixed, sum_of_products, vector
from regard.worked.checking import Mistake, Report
from regard.worked.judging import Cell
from regard.worked.sheet import Sheet
from regard.worked.story import Matrix, Row, Step, story, worked_row

BOXED = 2  # spaces before everything that belongs to a heading


def sheet_view(sheet: Sheet, query: str | int | None = None) -> RenderableType:
    """All steps, then one row worked out in each head."""
    parts: list[RenderableType] = [Text(sheet.title, style="bold")]
    if sheet.about:
        parts.append(Text(sheet.about, style="dim"))
    if sheet.made_up:
        parts.append(Text(sheet.made_up, style="yellow"))
    parts += [step_view(step) for step in story(sheet)]
    rows = [row for head in range(sheet.heads) if (row := worked_row(sheet, query, head)) is not None]
    parts += [row_view(row, sheet.heads) for row in rows]
    return Group(*parts)


def step_view(step: Step) -> RenderableType:
    heading = Text.assemble("\n", (f"{step.number}  " if step.number else "", "bold cyan"), (step.title, "bold cyan"))
    if step.formula:
        heading.append(f"   {step.formula}", style="cyan")
    body: list[RenderableType] = [heading, Padding(Text(step.sentence, style="dim"), (0, 0, 0, BOXED))]
    if step.matrices:
        tables = Columns([matrix_view(matrix) for matrix in step.matrices], padding=(0, 3))
        body.append(Padding(tables, (0, 0, 0, BOXED)))
    return Group(*body)


def matrix_view(matrix: Matrix) -> Table:
    """A table with the words at its sides, and, where it helps, the cells coloured."""
    table = Table(box=None, show_header=True, header_style="dim", padding=(0, 1, 0, 0), collapse_padding=True)
    table.add_column(Text(matrix.symbol, style="bold not dim"), style="italic", no_wrap=True)
    width = matrix.cells.shape[1]
    for name in matrix.columns or [""] * width:
        table.add_column(Text(name), justify="right", no_wrap=True)
    shown = column_figures(matrix.cells.flatten().tolist())
    for index, cells in enumerate(matrix.cells.tolist()):
        label = matrix.rows[index] if matrix.rows else ""
        texts = shown[index * width : (index + 1) * width]
        shares = heat(matrix, cells)
        table.add_row(label, *(Text(text, style=warmth(share)) for text, share in zip(texts, shares, strict=True)))
    return table


def heat(matrix: Matrix, cells: list[float]) -> list[float | None]:
    """How strongly to colour each cell, 0 to 1; None for not at all."""
    if matrix.name != "weights":
        return [None] * len(cells)
    return [None if math.isnan(cell) else cell for cell in cells]


def warmth(share: float | None) -> Style:
    """From plain to a full orange; the text stays readable on it."""
    if share is None or share <= 0:
        return Style()
    ground = tuple(round(20 + (goal - 20) * share) for goal in (235, 125, 30))
    ink = "black" if share > 0.45 else "white"
    return Style(color=ink, bgcolor="#{:02x}{:02x}{:02x}".format(*ground))


def row_view(row: Row, heads: int) -> RenderableType:
    title = f'\nThe row of "{row.query}"' + (f", head {row.head}" if heads > 1 else "") + ", product by product"
    lines = Text("\n").join(Text(line) for line in row_lines(row))
    return Group(Text(title, style="bold cyan"), Padding(lines, (0, 0, 0, BOXED)))


def row_lines(row: Row) -> Iterator[str]:
    """The row as aligned lines of plain text: scores, scaled, exponentials, weights, output."""
    wide = max(len(product.token) for product in row.products)
    for product in row.products:
        made = f"{sum_of_products(product.factors)} = " if product.factors else ""
        if not math.isnan(product.score):
            yield f"score of  {product.token:<{wide}}  {made}{figure(product.score)}"
    by = f"/ {figure(row.divisor)}" if row.divisor else f"× {figure(row.factor)}" if row.factor else ""
    if by and not math.isnan(row.products[0].scaled):
        for product in row.products:
            before = f"{figure(product.score)} {by} = " if not math.isnan(product.score) else ""
            yield f"scaled    {product.token:<{wide}}  {before}{figure(product.scaled)}"
    if not math.isnan(row.products[0].scaled):
        yield from softmax_lines(row, wide)
    else:
        for product in row.products:
            yield f"weight of {product.token:<{wide}}  {figure(product.weight)}"
    if row.output:
        mixed = " + ".join(f"{figure(p.weight)}×{vector(p.value)}" for p in row.products if p.weight != 0)
        yield f"output    {'':<{wide}}  {mixed} = {vector(row.output)}"


def softmax_lines(row: Row, wide: int) -> Iterator[str]:
    total = sum(product.exponential for product in row.products)
    if row.shift:
        yield f"softmax   {'':<{wide}}  {figure(row.shift)}, the largest, is subtracted first: no weight changes"
    terms = " + ".join(figure(product.exponential) for product in row.products)
    yield f"softmax   {'':<{wide}}  sum of all e^s = {terms} = {figure(total)}"
    for product in row.products:
        power = f"e^{figure(product.scaled - row.shift)} / sum = " if product.weight else "hidden: "
        made = f"{power}{figure(product.exponential)} / {figure(total)} = " if product.weight else power
        yield f"weight of {product.token:<{wide}}  {made}{figure(product.weight)}"


def report_view(report: Report) -> RenderableType:
    """Each mistake in a line of its own, then what was checked."""
    parts: list[RenderableType] = [Text(report.example.title or report.example.name, style="bold")]
    parts += [mistake_view(report, mistake) for mistake in report.mistakes]
    parts.append(closing(report))
    return Group(*parts)


def mistake_view(report: Report, mistake: Mistake) -> Text:
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
    places = len(mistake.text.partition(".")[2])
    text = fixed(mistake.correct, places)
    return text if text != mistake.text else figure(mistake.correct, places + 2)


def undecided_row_view(report: Report, mistake: Mistake) -> Text:
    query = report.example.queries[mistake.row]
    line = Text.assemble(
        ("  ✗ ", "bold red"), (f"weights, row of {query}", "bold"), ": sums to ", (mistake.text, "red"), ", should be 1"
    )
    others = " or ".join(f"{place(report, cell)} be {value:g}" for cell, value in mistake.instead)
    return line.append(f"\n      nothing decides which number is wrong: should {others}?")


def place(report: Report, cell: Cell) -> str:
    """scores (love, I) [1, 0]: the words first, then the numbers the file counts by."""
    example = report.example
    row = (example.tokens if cell.step in ("k", "v") else example.queries)[cell.row]
    column = example.tokens[cell.column] if cell.step in ("scores", "scaled", "weights") else f"column {cell.column}"
    return f"{cell.step} ({row}, {column}) [{cell.row}, {cell.column}]"


def closing(report: Report) -> Text:
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
