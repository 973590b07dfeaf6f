"""A sheet as one self-contained page: no script, no network, light and dark, readable on a phone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from regard.drawing.figures import column_figures
from regard.worked.sheet_numbers import SheetNumbers
from regard.worked.story import Matrix, Step, scaled_symbol, story
from regard.worked.worked_row import row_lines, worked_row

STRONGEST = 78  # percent of the tint in the warmest cell: the number on it stays readable


def page(sheet: SheetNumbers, query: str | int | None = None) -> str:
    """A whole HTML document."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(sheet.title)}: attention in six steps</title>\n"
        "<style>body { margin: 0; background: #fbf9f5; }\n@media (prefers-color-scheme: dark) "
        "{ body { background: #191714; } }</style>\n"
        f"</head>\n<body>\n{fragment(sheet, query)}\n</body>\n</html>\n"
    )


def fragment(sheet: SheetNumbers, query: str | int | None = None) -> str:
    """The same to stand inside another page, such as a notebook; its styles touch nothing else there."""
    style = files("regard.worked").joinpath("sheet.css").read_text(encoding="utf-8")
    about = f'<p class="about">{escape(sheet.about)}</p>' if sheet.about else ""
    about += f'<p class="made-up">{symbols(sheet.made_up)}</p>' if sheet.made_up else ""
    steps = "\n".join(step_html(step) for step in story(sheet))
    return (
        f'<div class="regard">\n<style>\n{style}</style>\n<header><h1>{escape(sheet.title)}</h1>{about}</header>\n'
        f"{steps}\n{rows_html(sheet, query)}\n"
        f"<footer>softmax({scaled_symbol(sheet)})·V, every number computed in double precision by regard</footer>\n"
        "</div>"
    )


def step_html(step: Step) -> str:
    number = f"<b>{step.number}</b>" if step.number else ""
    formula = f"<code>{symbols(step.formula)}</code>" if step.formula else ""
    tables = "\n".join(matrix_html(matrix) for matrix in step.matrices)
    body = f'\n<div class="row-of-tables">\n{tables}\n</div>' if tables else ""
    return (
        f"<section>\n<h2>{number}{escape(step.title)}{formula}</h2>\n"
        f'<p class="says">{escape(step.sentence)}</p>{body}\n</section>'
    )


def matrix_html(matrix: Matrix) -> str:
    head = ""
    if matrix.columns:
        names = "".join(f'<th scope="col">{escape(name)}</th>' for name in matrix.columns)
        head = f"<thead><tr><td></td>{names}</tr></thead>"
    width = matrix.cells.shape[1]
    texts = column_figures(matrix.cells.flatten().tolist())
    largest = max((abs(cell) for cell in matrix.cells.flatten().tolist() if math.isfinite(cell)), default=1.0) or 1.0
    lines = []
    for index, cells in enumerate(matrix.cells.tolist()):
        label = f'<th scope="row">{escape(matrix.rows[index])}</th>' if matrix.rows else ""
        shown = texts[index * width : (index + 1) * width]
        tints = [tint(cell / largest if matrix.heat else 0.0) for cell in cells]
        lines.append(f"<tr>{label}{''.join(f'<td{t}>{s}</td>' for t, s in zip(tints, shown, strict=True))}</tr>")
    table = f"<table>{head}<tbody>{''.join(lines)}</tbody></table>"
    return f"<figure><figcaption>{symbols(matrix.symbol)}</figcaption>{table}</figure>"


def symbols(formula: str) -> str:
    """W_Q with its letter set low."""
    return re.sub(r"W_(\w)", r"W<sub>\1</sub>", escape(formula))


def tint(share: float) -> str:
    """The class and strength of a cell's colour: warm for positive, cold for negative."""
    if not math.isfinite(share) or round(share * STRONGEST) == 0:
        return ""
    return f' class="{"up" if share > 0 else "down"}" style="--heat:{abs(share) * STRONGEST:.0f}"'


def rows_html(sheet: SheetNumbers, query: str | int | None) -> str:
    """Every row worked out, folded but for the chosen one."""
    chosen = sheet.row(0 if query is None else query)
    details = "\n".join(part for row in range(len(sheet.queries)) for part in row_html(sheet, row, row == chosen))
    if not details:
        return ""
    return f"<section>\n<h2>One row, product by product</h2>\n{details}\n</section>"


def row_html(sheet: SheetNumbers, index: int, unfolded: bool) -> Iterator[str]:
    for head in range(sheet.heads):
        row = worked_row(sheet, index, head)
        if row is not None:
            title = f"{row.query}, head {head}" if sheet.heads > 1 else row.query
            work = escape("\n".join(row_lines(row)))
            state = " open" if unfolded else ""
            yield f'<details{state}><summary>{escape(title)}</summary><pre class="work">{work}</pre></details>'
