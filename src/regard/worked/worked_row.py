"""One row of a sheet worked out product by product: the numbers, and the lines of text that say them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from regard.drawing.figures import figure, sum_of_products, vector
from regard.worked.sheet_numbers import SheetNumbers

LARGE = 10.0


@dataclass(frozen=True)
class Product:
    """One key in the row of a query: how its score, weight and share of the output come about."""

    token: str
    factors: tuple[tuple[float, float], ...]  # (query number, key number); empty when they are not known
    score: float
    scaled: float
    exponential: float  # e to the (scaled score - shift), 0 where hidden
    weight: float
    value: tuple[float, ...]  # empty when not known


@dataclass(frozen=True)
class WorkedRow:
    """What one query does, in one head."""

    query: str
    head: int
    products: tuple[Product, ...]
    output: tuple[float, ...]
    divisor: float | None  # sqrt(d), times the temperature
    factor: float | None  # instead of it, where a scale was given
    shift: float  # subtracted from every score before e^: the largest one, where e^ would grow out of hand; else 0


def worked_row(sheet: SheetNumbers, query: str | int | None = None, head: int = 0) -> WorkedRow | None:
    """One row product by product; None if the sheet has no weights."""
    if "weights" not in sheet.values:
        return None
    row = sheet.row(0 if query is None else query)
    weights = of_head(sheet, "weights", head)
    largest = of_head(sheet, "scaled", head)[row].max().item() if "scaled" in sheet.values else 0.0
    shift = largest if largest > LARGE else 0.0
    products = [product(sheet, (row, column), head, shift) for column in range(weights.shape[1])]
    output = of_head(sheet, "output", head)[row].tolist() if "output" in sheet.values else ()
    return WorkedRow(named(sheet, row), head, tuple(products), tuple(output), *scaling(sheet), shift)


def named(sheet: SheetNumbers, row: int) -> str:
    """The word of a row, and which of its occurrences it is where there are several."""
    word = sheet.queries[row]
    rows = sheet.rows(word)
    return word if len(rows) == 1 else f"{word} ({rows.index(row) + 1} of {len(rows)})"


def scaling(sheet: SheetNumbers) -> tuple[float | None, float | None]:
    """What scores are divided by, or else multiplied by; neither, where they stay as they are."""
    if not sheet.scale or sheet.scale == 1:
        return None, None
    return (None, sheet.scale) if sheet.d is None else (1.0 / sheet.scale, None)


def product(sheet: SheetNumbers, place: tuple[int, int], head: int, shift: float) -> Product:
    row, column = place

    def cell(name: str) -> float:
        return float(of_head(sheet, name, head)[row, column]) if name in sheet.values else float("nan")

    factors: tuple[tuple[float, float], ...] = ()
    if "q" in sheet.values and "k" in sheet.values:
        query, key = of_head(sheet, "q", head)[row], of_head(sheet, "k", head)[column]
        factors = tuple(zip(query.tolist(), key.tolist(), strict=True))
    weight, scaled = cell("weights"), cell("scaled")
    exponential = 0.0 if weight == 0 else math.exp(scaled - shift)
    value = of_head(sheet, "v", head)[column].tolist() if "v" in sheet.values else ()
    return Product(sheet.tokens[column], factors, cell("scores"), scaled, exponential, weight, tuple(value))


def of_head(sheet: SheetNumbers, name: str, head: int) -> Tensor:
    value = sheet.values[name]
    return value[head] if value.ndim == 3 else value


def row_lines(row: WorkedRow) -> Iterator[str]:
    """The row as aligned lines of plain text: scores, scaled, exponentials, weights, output."""
    wide = max(len(product.token) for product in row.products)
    for product in row.products:
        before = f"{sum_of_products(product.factors)} = " if product.factors else ""
        if not math.isnan(product.score):
            yield f"score of  {product.token:<{wide}}  {before}{figure(product.score)}"
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


def softmax_lines(row: WorkedRow, wide: int) -> Iterator[str]:
    total = sum(product.exponential for product in row.products)
    if row.shift:
        yield f"softmax   {'':<{wide}}  {figure(row.shift)}, the largest, is subtracted first: no weight changes"
    terms = " + ".join(figure(product.exponential) for product in row.products)
    yield f"softmax   {'':<{wide}}  sum of all e^s = {terms} = {figure(total)}"
    for product in row.products:
        power = f"e^{figure(product.scaled - row.shift)} / sum = " if product.weight else "hidden: "
        before = f"{power}{figure(product.exponential)} / {figure(total)} = " if product.weight else power
        yield f"weight of {product.token:<{wide}}  {before}{figure(product.weight)}"
