"""Hand-worked examples from TOML or JSON, with every number kept as it was written.

How many digits were written is part of what a sheet says (0.71 stands for anything that rounds to it), so numbers are
read as `Decimal`, from literals and from strings alike.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import FileError, InputError, ShapeError, UnknownNameError
from regard.worked.options import Positions, read_positions, read_scale, read_temperature

INPUTS = ("x", "w_q", "w_k", "w_v", "w_o")
STEPS = ("q", "k", "v", "scores", "scaled", "weights", "output")
HOW = ("d_k", "scale", "temperature", "positions", "heads", "causal")  # it is computed
FOLLOWS = ("x_p", "z")  # from the others: a sheet writes them, and they are not read
KEYS = ("title", "about", "made_up", "tokens", "queries", *INPUTS, *STEPS, *HOW, *FOLLOWS, "stated", "sheet")
STATED_KEYS = ("step", "row", "column", "values")


@dataclass(frozen=True)
class Numeral:
    """One number as somebody wrote it."""

    text: str
    value: float
    half_unit: float  # half a unit of the last digit written

    def stands_for(self, number: float, slack: float = 0.0) -> bool:
        """Could this be that number, rounded to the digits written?"""
        return abs(self.value - number) <= self.half_unit + slack + 1e-9 * max(1.0, abs(number))

    @property
    def doubt(self) -> float:
        """How far off the number behind it may be when nothing else is known; whole numbers are taken as exact."""
        return 0.0 if self.half_unit >= 0.5 else self.half_unit


@dataclass(frozen=True)
class Statement:
    """One `[[stated]]` block: the step it speaks of, and its cells by (row, column)."""

    step: str
    cells: Mapping[tuple[int, int], Numeral]


@dataclass(frozen=True)
class Example:
    """Everything a file gives."""

    name: str
    tokens: tuple[str, ...]
    queries: tuple[str, ...]
    matrices: Mapping[str, Tensor]  # float64, rank 2 (or 3 with heads first)
    stated: tuple[Statement, ...] = ()
    title: str = ""
    about: str = ""
    made_up: str = ""  # what is said of numbers that were made up
    d_k: float | None = None
    scale: float | None = None  # None: 1 / sqrt(d)
    temperature: float = 1.0
    positions: Positions = False
    heads: int = 1
    causal: bool = False
    for_sheet: Mapping[str, Any] = field(default_factory=dict)


def read_file(path: Path) -> Example:
    """The example in a .toml or .json file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot read {path}", found=error.strerror or str(error), do="check the name") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not text in UTF-8", found=str(error), do="save it as UTF-8") from error
    return read_example(parse(text, path), path.stem)


def parse(text: str, path: Path) -> dict[str, Any]:
    """TOML, or JSON when the name ends in .json."""
    try:
        if path.suffix.lower() == ".json":
            data = json.loads(text, parse_float=Decimal)
        else:
            data = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise FileError(f"{path} is not {kind}", found=str(error), do="mend it at that place") from error
    if not isinstance(data, dict):
        raise FileError(f"{path} must hold names and values", found=type(data).__name__, do="begin with tokens = [...]")
    return data


def read_example(data: Mapping[str, Any], name: str) -> Example:
    """The example that a parsed file (or keyword arguments) describes."""
    known(data, KEYS, "key")
    tokens = words("tokens", data.get("tokens"))
    queries = words("queries", data["queries"]) if "queries" in data else tokens
    matrices = {key: matrix(key, data[key]) for key in (*INPUTS, "q", "k", "v") if data.get(key) is not None}
    stated = data.get("stated", [])
    if not isinstance(stated, list) or not all(isinstance(block, Mapping) for block in stated):
        raise InputError("stated must be a list of blocks", found=f"{stated!r}", do="begin each with [[stated]]")
    blocks = [*as_statements(data), *stated]
    if data.get("d_k") is not None and data.get("scale") is not None:
        raise InputError("d_k and scale both say how scores are scaled", found="both of them", do="leave one out")
    return Example(
        name=name,
        tokens=tokens,
        queries=queries,
        matrices=matrices,
        stated=tuple(statement(block, len(queries), len(tokens)) for block in blocks),
        title=str(data.get("title", "")),
        about=str(data.get("about", "")),
        made_up=str(data.get("made_up", "")),
        d_k=positive("d_k", data.get("d_k")),
        scale=read_scale(data.get("scale")),
        temperature=read_temperature(data.get("temperature")),
        positions=read_positions(data.get("positions"), matrix),
        heads=count(data.get("heads", 1)),
        causal=yes_or_no("causal", data.get("causal", False)),
        for_sheet=table("sheet", data.get("sheet", {})),
    )


def as_statements(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Scores, weights and the like at the top of a file say what came out, as a statement does: they are checked."""
    for step in ("scores", "scaled", "weights", "output"):
        values = data.get(step)
        if values is not None and hasattr(values, "tolist"):  # a tensor or an array
            values = values.tolist()
        if values is not None and not by_head(values):
            yield {"step": step, "values": values}


def by_head(values: Any) -> bool:
    """Is this a matrix for each head?"""
    first = values[0] if isinstance(values, (list, tuple)) and values else None
    return isinstance(first, (list, tuple)) and bool(first) and isinstance(first[0], (list, tuple))


def positive(name: str, given: Any) -> float | None:
    if given is None:
        return None
    value = number(name, given).value
    if value <= 0:
        raise InputError(f"{name} must be greater than 0", found=f"{given}", do=f"{name} = 64, or leave it out")
    return value


def yes_or_no(name: str, given: Any) -> bool:
    if not isinstance(given, bool):
        raise InputError(f"{name} must be true or false", found=f"{given!r}", do=f"{name} = true")
    return given


def table(name: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must be a table", found=f"{given!r}", do=f"begin it with [{name}]")
    return given


def known(data: Mapping[str, Any], names: tuple[str, ...], what: str) -> None:
    for key in data:
        if key not in names:
            raise UnknownNameError(what, str(key), names)


def words(name: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(word, str) for word in given):
        raise InputError(
            f"{name} must be a list of words, at least one", found="nothing" if given is None else f"{given!r}",
            do=f'{name} = ["I", "love", "AI"]',
        )  # fmt: skip
    return tuple(given)


def count(heads: Any) -> int:
    if not isinstance(heads, int) or isinstance(heads, bool) or heads < 1:
        raise InputError("heads must be a whole number, at least 1", found=f"{heads!r}", do="heads = 1")
    return heads


def number(where: str, given: Any) -> Numeral:
    """A number or a string that holds one, with the digits it was written with."""
    text = given if isinstance(given, str) else str(given)
    try:
        decimal = Decimal(text.strip().replace("−", "-").replace("_", ""))
    except InvalidOperation:
        decimal = Decimal("nan")
    if isinstance(given, bool) or not decimal.is_finite() or not math.isfinite(float(decimal)):
        raise InputError(f"{where} must be a number", found=f"{text!r}", do=advice_on_number(text))
    exponent = int(decimal.as_tuple().exponent)
    return Numeral(text.strip(), float(decimal), 0.5 * 10.0 ** min(exponent, 0))


def advice_on_number(text: str) -> str:
    if text.strip().endswith("%"):
        return "write a share as a number: 0.36 for 36 %"
    return "write decimals with a point: 0.71" if "," in text else 'write it as 0.71 or "0.71"'


def matrix(name: str, given: Any) -> Tensor:
    """A matrix (or one for each head), as float64."""
    if isinstance(given, Tensor):
        return given.detach().to(torch.float64)
    if hasattr(given, "tolist"):  # a NumPy array
        given = given.tolist()
    if not isinstance(given, (list, tuple)) or not given:
        raise ShapeError(f"{name} must be a matrix", found=f"{given!r}", do=f"{name} = [[1, 0], [0, 1]]")
    if by_head(given):
        parts = [matrix(f"{name} of head {head}", part) for head, part in enumerate(given)]
        same_sizes(name, [tuple(part.shape) for part in parts])
        return torch.stack(parts)
    rows = [[cell.value for cell in row] for row in written_rows(name, given)]
    return torch.tensor(rows, dtype=torch.float64)


def written_rows(name: str, given: Any) -> list[list[Numeral]]:
    """Rows of equal length."""
    if not all(isinstance(row, (list, tuple)) and row for row in given):
        raise ShapeError(f"{name} must be a list of rows", found=f"{given!r}", do=f"{name} = [[1, 0], [0, 1]]")
    rows = [[number(f"{name}, row {i}, column {j}", cell) for j, cell in enumerate(row)] for i, row in enumerate(given)]
    same_sizes(name, [len(row) for row in rows])
    return rows


def same_sizes(name: str, sizes: list[Any]) -> None:
    if len(set(sizes)) > 1:
        raise ShapeError(
            f"{name} is ragged: its rows differ in length",
            found=f"lengths {', '.join(map(str, sizes))}",
            do="give every row the same number of numbers",
        )


def statement(block: Mapping[str, Any], queries: int, keys: int) -> Statement:
    """One `[[stated]]` block, its cells placed in the matrix of its step."""
    known(block, STATED_KEYS, "key of [[stated]]")
    step = block.get("step")
    if step not in STEPS:
        raise UnknownNameError("step", str(step), STEPS)
    if "values" not in block:
        raise InputError(f"a statement about {step} says no values", do="values = a matrix, a row or one number")
    row, column = index("row", block.get("row")), index("column", block.get("column"))
    cells = place(step, block["values"], row, column)
    height = keys if step in ("k", "v") else queries
    width = keys if step in ("scores", "scaled", "weights") else None
    for i, j in cells:
        if i >= height or (width is not None and j >= width):
            size = f"{height} rows" + (f" and {width} columns" if width else "")
            raise ShapeError(
                f"a statement about {step} goes beyond the tokens",
                found=f"row {i}, column {j}, of {size}",
                do="rows and columns count from 0; there is one for each token",
            )
    return Statement(step, cells)


def index(name: str, given: Any) -> int | None:
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise InputError(f"{name} must be a whole number, counted from 0", found=f"{given!r}", do=f"{name} = 0")
    return given


def place(step: str, values: Any, row: int | None, column: int | None) -> dict[tuple[int, int], Numeral]:
    """The cells that `values` speaks of: a matrix from (0, 0), one row, one column, or one number."""
    if not isinstance(values, (list, tuple)):
        if row is None or column is None:
            raise InputError(
                f"one number about {step} needs row and column", found=f"{values!r}", do="row = 0, column = 0"
            )
        return {(row, column): number(f"{step}, row {row}, column {column}", values)}
    if not values:
        raise ShapeError(f"a statement about {step} has no values", found="[]", do="write at least one number")
    if not any(isinstance(value, (list, tuple)) for value in values):
        if row is not None and column is None:
            return {(row, j): number(f"{step}, row {row}, column {j}", value) for j, value in enumerate(values)}
        if column is not None and row is None:
            return {(i, column): number(f"{step}, row {i}, column {column}", value) for i, value in enumerate(values)}
        raise InputError(f"a row of {step} needs to say which", found=f"{list(values)!r}", do="row = 0 (or column = 0)")
    if row is not None or column is not None:
        if row is not None and column is None and len(values) == 1:
            return place(step, values[0], row, column)
        raise ShapeError(f"a whole matrix of {step} has no row or column", found=f"{values!r}", do="leave them out")
    return {(i, j): cell for i, line in enumerate(written_rows(step, values)) for j, cell in enumerate(line)}
