"""The sheet as it is told: six steps with a sentence each. Terminal, HTML and LaTeX all draw these."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from regard.worked.sheet_numbers import SheetNumbers


@dataclass(frozen=True)
class Matrix:
    """One table of a step."""

    name: str  # as in --json
    symbol: str  # as in the equation
    rows: tuple[str, ...]
    columns: tuple[str, ...]  # empty: the columns are just dims
    cells: Tensor  # rank 2; NaN where unknown
    heat: bool = False  # colour the cells by their value
    head: int | None = None  # which of several heads it belongs to


@dataclass(frozen=True)
class Step:
    """One step: what it does, in a sentence and in a formula, and what came out."""

    number: str
    title: str
    sentence: str
    formula: str
    matrices: tuple[Matrix, ...]


SYMBOLS = {
    "x": "X", "positions": "P", "x_p": "X + P", "w_q": "W_Q", "w_k": "W_K", "w_v": "W_V", "q": "Q", "k": "K", "v": "V",
    "scores": "Q·Kᵀ", "masked": "masked", "weights": "A", "output": "A·V", "w_o": "W_O", "z": "Z",
}  # fmt: skip


def story(sheet: SheetNumbers) -> Iterator[Step]:
    """The steps of which anything is known, in order."""
    yield from filled(sheet, "", "Words as numbers", "Each word is a row of X: its embedding.", "X", ("x",))
    yield from filled(
        sheet, "", "Positions", "Each position has a code of its own, added to its word: so the order of words counts.",
        "X + P", ("positions", "x_p"),
    )  # fmt: skip
    words = "(X + P)" if "x_p" in sheet.values else "X"
    yield from filled(
        sheet, "1", "Project",
        "Each word asks a question (query), offers an answer (key) and has something to say (value).",
        f"Q = {words}·W_Q, K = {words}·W_K, V = {words}·W_V", ("w_q", "w_k", "w_v", "q", "k", "v"),
    )  # fmt: skip
    yield from filled(
        sheet, "2", "Score", "How well does each key answer each query? The dot product says.", "Q·Kᵀ", ("scores",)
    )
    yield from filled(sheet, "3", "Scale", scale_sentence(sheet), scaled_symbol(sheet), ("scaled",))
    yield mask_step(sheet)
    yield from filled(
        sheet, "5", "Softmax", "Each row becomes weights: positive, and together 1.", "A = softmax(…)", ("weights",)
    )
    yield from filled(
        sheet, "6", "Mix", "Each word's output is the mean of the values, weighted by its row.", "A·V", ("output",)
    )
    yield from filled(
        sheet, "", "Join the heads", "The heads' outputs stand side by side and are projected once more.",
        "Z = [A₁·V₁ … Aₕ·Vₕ]·W_O", ("w_o", "z"),
    )  # fmt: skip


def scaled_symbol(sheet: SheetNumbers) -> str:
    """Step 3 as a formula: of the usual scale or of another, with a temperature or without."""
    warm = sheet.temperature != 1
    if sheet.d is None and sheet.scale is not None:
        plain = "Q·Kᵀ" if sheet.scale * sheet.temperature == 1 else "c·Q·Kᵀ"
        return f"{plain} / T" if warm else plain
    return "Q·Kᵀ / (√d·T)" if warm else "Q·Kᵀ / √d"


def scale_sentence(sheet: SheetNumbers) -> str:
    """What is done to the scores, in words."""
    if sheet.scale is None:
        return "Divide by √d, so that long vectors do not push the softmax into its corners."
    own = sheet.scale * sheet.temperature
    if sheet.d is not None:
        root = math.sqrt(sheet.d)
        sentence = f"Divide by √d = √{sheet.d:g} = {root:.4g}, so that long vectors do not saturate the softmax."
    elif own == 1:
        sentence = "Nothing is scaled here: the scores stay as they are."
    else:
        sentence = f"Multiply by the scale c = {own:.4g} that was asked for, instead of dividing by √d."
    if sheet.temperature == 1:
        return sentence
    sense = "sharper" if sheet.temperature < 1 else "more even"
    return f"{sentence} Then divide by the temperature T = {sheet.temperature:g}: the weights become {sense}."


def mask_step(sheet: SheetNumbers) -> Step:
    if not sheet.causal or sheet.steps is None:
        return Step("4", "Mask", "Nothing is hidden here: every query may look at every key.", "", ())
    masked = sheet.steps.masked if sheet.heads > 1 else sheet.steps.masked[0]
    sentence = "No word may look at a later one: those scores become −∞, and their weights 0."
    return Step("4", "Mask", sentence, "s = −∞ where hidden", tuple(tables(sheet, "masked", masked)))


def filled(
    sheet: SheetNumbers, number: str, title: str, sentence: str, formula: str, names: tuple[str, ...]
) -> Iterator[Step]:
    """The step, if any of its matrices is known."""
    matrices = tuple(
        matrix for name in names if name in sheet.values for matrix in tables(sheet, name, sheet.values[name])
    )
    if matrices:
        yield Step(number, title, sentence, formula, matrices)


def tables(sheet: SheetNumbers, name: str, value: Tensor) -> Iterator[Matrix]:
    """One table, or one for each head."""
    words = name in ("scores", "scaled", "masked", "weights")
    keys = ("x", "positions", "x_p", "k", "v")
    rows = () if name.startswith("w_") else sheet.tokens if name in keys else sheet.queries
    base = scaled_symbol(sheet) if name == "scaled" else SYMBOLS[name]
    columns = sheet.tokens if words else ()
    for head, cells in enumerate(value if value.ndim == 3 else value[None]):
        several = value.ndim == 3
        symbol = base + (f" (head {head})" if several else "")
        yield Matrix(name, symbol, rows, columns, cells, heat=words, head=head if several else None)
