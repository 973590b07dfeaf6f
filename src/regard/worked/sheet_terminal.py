"""Sheets for a terminal, as rich renderables."""

from __future__ import annotations

import math

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from regard.drawing.figures import column_figures
from regard.worked.sheet_numbers import SheetNumbers
from regard.worked.story import Matrix, Step, story
from regard.worked.worked_row import WorkedRow, row_lines, worked_row

BOXED = 2  # spaces before everything that belongs to a heading


def sheet_view(sheet: SheetNumbers, query: str | int | None = None) -> RenderableType:
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


def row_view(row: WorkedRow, heads: int) -> RenderableType:
    title = f'\nThe row of "{row.query}"' + (f", head {row.head}" if heads > 1 else "") + ", product by product"
    lines = Text("\n").join(Text(line) for line in row_lines(row))
    return Group(Text(title, style="bold cyan"), Padding(lines, (0, 0, 0, BOXED)))
