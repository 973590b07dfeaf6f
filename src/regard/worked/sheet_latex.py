"""A sheet as LaTeX, to paste into a document that uses amsmath."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from regard.drawing.figures import column_figures, figure
from regard.worked.sheet_numbers import SheetNumbers
from regard.worked.story import Matrix, Step, story
from regard.worked.worked_row import WorkedRow, worked_row

SYMBOLS = {
    "x": "X", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V", "q": "Q", "k": "K", "v": "V", "scores": r"QK^{\top}",
    "positions": "P", "x_p": "X + P", "masked": "M", "weights": "A", "output": "AV", "w_o": "W_O", "z": "Z",
}  # fmt: skip
SCALED = {
    "Q·Kᵀ / √d": r"\frac{QK^{\top}}{\sqrt{d}}", "Q·Kᵀ / (√d·T)": r"\frac{QK^{\top}}{\sqrt{d}\,T}", "Q·Kᵀ": r"QK^{\top}",
    "Q·Kᵀ / T": r"\frac{QK^{\top}}{T}", "c·Q·Kᵀ": r"c\,QK^{\top}", "c·Q·Kᵀ / T": r"\frac{c\,QK^{\top}}{T}",
}  # fmt: skip
SPECIAL = {character: "\\" + character for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def latex(sheet: SheetNumbers, query: str | int | None = None) -> str:
    """Each step as a paragraph with its matrices, then one row worked out."""
    parts = [f"% {' '.join(sheet.tokens)}: attention in six steps; needs \\usepackage{{amsmath}}"]
    parts += [rf"\emph{{{prose(sheet.made_up)}}}"] if sheet.made_up else []
    parts += [step_latex(step) for step in story(sheet)]
    rows = [row for head in range(sheet.heads) if (row := worked_row(sheet, query, head)) is not None]
    parts += [row_latex(row, sheet.heads) for row in rows]
    return "\n\n".join(parts) + "\n"


def step_latex(step: Step) -> str:
    number = f"{step.number}. " if step.number else ""
    lines = [rf"\paragraph{{{number}{step.title}}} {prose(step.sentence)}"]
    if step.matrices:
        body = " \\\\\n".join(f"  {symbol(matrix)} &= {matrix_latex(matrix)}" for matrix in step.matrices)
        lines.append(f"\\begin{{align*}}\n{body}\n\\end{{align*}}")
    return "\n".join(lines)


def symbol(matrix: Matrix) -> str:
    base = SCALED[matrix.symbol.partition(" (head")[0]] if matrix.name == "scaled" else SYMBOLS[matrix.name]
    if matrix.head is None:
        return base
    whole = base if len(base) == 1 else rf"\left({base}\right)"
    return rf"{whole}^{{({matrix.head})}}"


def matrix_latex(matrix: Matrix) -> str:
    """A matrix, with the words in front of the rows."""
    width = matrix.cells.shape[1]
    texts = [number(text) for text in column_figures(matrix.cells.flatten().tolist())]
    rows = [" & ".join(texts[start : start + width]) for start in range(0, len(texts), width)]
    inner = r" \\ ".join(rows)
    labels = r" \\ ".join(rf"\text{{{escape(word)}}}" for word in matrix.rows)
    before = rf"\begin{{matrix}} {labels} \end{{matrix}} " if matrix.rows else ""
    return before + bracketed(inner, width)


def bracketed(inner: str, width: int) -> str:
    """A matrix in brackets, however wide: amsmath's own bmatrix ends at ten columns."""
    return rf"\left[\begin{{array}}{{*{{{width}}}{{r}}}} {inner} \end{{array}}\right]"


def row_latex(row: WorkedRow, heads: int) -> str:
    head = f", head {row.head}" if heads > 1 else ""
    lines = " \\\\\n".join(f"  {line}" for line in row_equations(row))
    title = rf"\paragraph{{The row of \emph{{{escape(row.query)}}}{head}}}"
    return f"{title}\n\\begin{{align*}}\n{lines}\n\\end{{align*}}"


def row_equations(row: WorkedRow) -> Iterator[str]:
    for product in row.products:
        token = rf"\text{{{escape(product.token)}}}"
        if product.factors:
            terms = " + ".join(rf"{factor(left)} \cdot {factor(right)}" for left, right in product.factors)
            yield rf"s_{{{token}}} &= {terms} = {number(figure(product.score))}"
    total = sum(product.exponential for product in row.products)
    for product in row.products:
        token = rf"\text{{{escape(product.token)}}}"
        if math.isnan(product.scaled) or product.weight == 0:
            yield rf"a_{{{token}}} &= {number(figure(product.weight))}"
        else:
            power = rf"e^{{{number(figure(product.scaled - row.shift))}}}"
            yield rf"a_{{{token}}} &= \frac{{{power}}}{{{number(figure(total))}}} = {number(figure(product.weight))}"
    if row.output:
        mixed = " + ".join(rf"{number(figure(p.weight))} \cdot {vector(p.value)}" for p in row.products if p.weight)
        yield rf"\text{{output}} &= {mixed} = {vector(row.output)}"


def vector(numbers: tuple[float, ...]) -> str:
    return bracketed(" & ".join(number(figure(value)) for value in numbers), len(numbers))


def factor(value: float) -> str:
    text = number(figure(value))
    return f"({text})" if text.startswith("-") else text


def number(text: str) -> str:
    return text.replace("−∞", r"-\infty").replace("∞", r"\infty").replace("−", "-").replace("·", r"\cdot")


def prose(sentence: str) -> str:
    symbols = re.sub(r"W_(\w)", r"$W_\1$", sentence)
    return re.sub(r"√(\w+)", r"$\\sqrt{\1}$", symbols).replace("−∞", r"$-\infty$")


def escape(word: str) -> str:
    return "".join(SPECIAL.get(character, character) for character in word)
