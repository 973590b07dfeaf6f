"""One example with every number of every step, from a sentence, from one's own matrices or from a shipped example."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.attention import Steps, attend
from regard.attention.steps import project
from regard.errors import InputError, ShapeError, UnknownNameError
from regard.lens.worked import examples
from regard.lens.worked.chain import Chain, check_sizes, scale_of
from regard.lens.worked.judging import Sayings
from regard.lens.worked.reading import INPUTS, STEPS, Example, count, read_example, read_file
from regard.lens.worked.repairing import explain

ORDER = ("x", "w_q", "w_k", "w_v", *STEPS, "w_o", "z")


@dataclass(frozen=True, repr=False)
class Sheet:
    """The six steps of one example: `values` holds what is known of `ORDER`, with several heads a matrix for each."""

    tokens: tuple[str, ...]  # the words looked at
    queries: tuple[str, ...]  # the words that look; nearly always the same
    values: Mapping[str, Tensor]
    steps: Steps | None  # what `attend` computed; None when the example starts later than q, k and v
    scale: float | None
    heads: int = 1
    causal: bool = False
    title: str = ""
    about: str = ""

    def row(self, query: str | int) -> int:
        """Which row belongs to a word (its first) or to a number counted from 0."""
        if isinstance(query, str) and query in self.queries:
            return self.queries.index(query)
        if isinstance(query, str) and not query.isdecimal():
            raise UnknownNameError("word", query, self.queries)
        if not 0 <= int(query) < len(self.queries):
            raise InputError("there is no such row", found=f"{query}, of {len(self.queries)}", do="rows count from 0")
        return int(query)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON; what is not known is left out, a single unknown number is None."""
        words: dict[str, Any] = {"tokens": list(self.tokens)}
        if self.queries != self.tokens:
            words["queries"] = list(self.queries)
        return words | {name: plain(self.values[name].tolist()) for name in ORDER if name in self.values}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_html(self, query: str | int | None = None) -> str:
        """One self-contained page: no network, readable on a phone, light and dark."""
        from regard.lens.draw.sheet_html import page

        return page(self, query)

    def to_latex(self, query: str | int | None = None) -> str:
        """The matrices and one row worked out, to paste into a document that uses amsmath."""
        from regard.lens.draw.sheet_latex import latex

        return latex(self, query)

    def _repr_html_(self) -> str:
        from regard.lens.draw.sheet_html import fragment

        return fragment(self)

    def __str__(self) -> str:
        from regard.lens.draw.plain import as_text
        from regard.lens.draw.terminal import sheet_view

        return as_text(sheet_view(self))

    def __repr__(self) -> str:
        return str(self)


def steps(
    text: str | Sequence[str] | None = None,
    *,
    example: str | None = None,
    file: str | Path | None = None,
    d: int | None = None,
    heads: int | None = None,
    causal: bool | None = None,
    seed: int = 0,
    **numbers: Any,
) -> Sheet:
    """The six steps with every number, as a sheet that prints and draws itself.

    From a sentence (`steps("I love AI")`: small numbers are made up, always the same for the same seed), a shipped
    `example`, a TOML or JSON `file`, or one's own matrices (`tokens=[...], x=..., w_q=...`, or `q=, k=, v=`).
    """
    found = read_source(text, example, file, numbers)
    settings = {"heads": heads, "causal": causal}
    chosen = {name: value for name, value in settings.items() if value is not None}
    return fill(read_changed(found, chosen), d, seed)


def read_source(
    text: str | Sequence[str] | None, example: str | None, file: str | Path | None, numbers: Mapping[str, Any]
) -> Example:
    """The one source among those offered."""
    given = [name for name, value in (("text", text), ("example", example), ("file", file)) if value is not None]
    if len(given) > 1 or (given and given != ["text"] and numbers):
        names = [*given, *numbers]
        raise InputError("more than one source of numbers", found=", ".join(names), do="give one of them")
    if example is not None:
        return for_sheet(examples.load(example))
    if file is not None:
        return for_sheet(read_file(Path(file)))
    words = text.split() if isinstance(text, str) else text
    return read_example({**numbers, **({} if words is None else {"tokens": list(words)})}, "example")


def for_sheet(example: Example) -> Example:
    """An example's own table for the sheet, where what is checked is only a part of it."""
    if not example.for_sheet:
        return example
    return read_example({"about": example.about, "title": example.title, **example.for_sheet}, example.name)


def read_changed(example: Example, chosen: Mapping[str, Any]) -> Example:
    """The example with `heads` and `causal` as asked for on top of what it says itself."""
    if "heads" in chosen:
        count(chosen["heads"])
    return replace(example, **chosen)


def fill(example: Example, d: int | None, seed: int) -> Sheet:
    """Make up what is needed and not given, and compute the rest."""
    matrices = dict(example.matrices)
    if not example.stated and not any(step in matrices for step in STEPS):
        matrices = made_up(example, d, seed)
    elif d is not None:
        raise InputError("d is only for numbers made up here", found=f"d={d}", do="leave d out")
    check_sizes(matrices, len(example.queries), len(example.tokens))
    known = {name: by_head(matrices, name, example.heads) for name in ("q", "k", "v")}
    if all(value is not None for value in known.values()):
        return whole_sheet(example, matrices, {name: value for name, value in known.items() if value is not None})
    return part_sheet(example)


def whole_sheet(example: Example, matrices: Mapping[str, Tensor], known: Mapping[str, Tensor]) -> Sheet:
    """All six steps, by `attend`."""
    scale = 1.0 / math.sqrt(example.d_k or known["q"].shape[-1])
    _, taken = attend(known["q"], known["k"], known["v"], causal=example.causal, scale=scale, see="steps")
    found = {"scores": taken.scores, "scaled": taken.scaled, "weights": taken.weights, "output": taken.output}
    by_step = {name: value[0] if len(value) == 1 else value for name, value in {**known, **found}.items()}
    values = {name: matrices[name] for name in INPUTS if name in matrices and name != "w_o"} | by_step
    if len(taken.output) > 1 and "w_o" in matrices:
        joined = taken.output.transpose(0, 1).flatten(1)
        if joined.shape[1] != matrices["w_o"].shape[0]:
            raise ShapeError(
                f"w_o must have {joined.shape[1]} rows: heads x value dim",
                found=f"w_o {tuple(matrices['w_o'].shape)}",
                do="or leave it out",
            )
        values |= {"w_o": matrices["w_o"], "z": joined @ matrices["w_o"]}
    return dressed(example, values, taken, scale, len(taken.output))


def part_sheet(example: Example) -> Sheet:
    """An example that starts later: from its scores or weights on."""
    chain = Chain.of(example)
    if any(matrix.ndim > 2 for matrix in chain.given.values()) or example.heads > 1:
        raise InputError(
            "several heads need q, k and v", found=", ".join(chain.given), do="give all three, or one head"
        )
    known = explain(Sayings(chain, example.stated)).verdict.truth if example.stated else chain.follow({}, over=False)
    if not any(step in known for step in STEPS):
        raise InputError(
            "there is nothing to compute from", found=", ".join(known) or "no numbers", do="give q, k and v"
        )
    return dressed(example, {name: known[name] for name in ORDER if name in known}, None, scale_of(example), 1)


def dressed(
    example: Example, values: Mapping[str, Tensor], taken: Steps | None, scale: float | None, heads: int
) -> Sheet:
    return Sheet(
        tokens=example.tokens, queries=example.queries, values=values, steps=taken, scale=scale, heads=heads,
        causal=example.causal, title=example.title or " ".join(example.tokens), about=example.about,
    )  # fmt: skip


def by_head(matrices: Mapping[str, Tensor], name: str, heads: int) -> Tensor | None:
    """q, k or v as (heads, words, dim), given or projected; None if there is neither."""
    if name in matrices:
        given = matrices[name]
        if given.ndim == 3:
            return given
        even(name, given, heads)
        return torch.unflatten(given, -1, (heads, -1)).transpose(-3, -2)
    if "x" not in matrices or f"w_{name}" not in matrices:
        return None
    even(f"w_{name}", matrices[f"w_{name}"], heads)
    return project(matrices["x"], matrices[f"w_{name}"], heads)


def even(name: str, matrix: Tensor, heads: int) -> None:
    if matrix.shape[-1] % heads:
        raise ShapeError(
            f"{heads} heads cannot share the columns of {name} equally",
            found=f"{name} {tuple(matrix.shape)}",
            do=f"choose a width that {heads} divides",
        )


def made_up(example: Example, d: int | None, seed: int) -> dict[str, Tensor]:
    """Embeddings and matrices of one decimal, the same for the same word and seed, where none are given."""
    matrices = dict(example.matrices)
    rows = [len(matrices[name]) for name in ("w_q", "w_k", "w_v") if name in matrices]
    width = matrices["x"].shape[-1] if "x" in matrices else rows[0] if rows else (4 if d is None else d)
    if not isinstance(width, int) or isinstance(width, bool) or width < 1 or (d is not None and d != width):
        raise InputError("d must be a whole number, at least 1, and fit what is given", found=f"{d}", do="d = 4")
    if width % example.heads and not all(f"w_{name}" in matrices for name in "qkv"):
        raise ShapeError(
            f"{example.heads} heads cannot share {width} dims equally",
            found=f"d={width}, heads={example.heads}",
            do=f"choose d as a multiple of {example.heads}",
        )
    matrices.setdefault("x", torch.stack([small_numbers(f"{seed}/{word}", width) for word in example.tokens]))
    for name in ("w_q", "w_k", "w_v"):
        rows_of_w = [small_numbers(f"{seed}/{name}/{row}", width) for row in range(width)]
        matrices.setdefault(name, torch.stack(rows_of_w))
    if example.heads > 1:
        height = matrices["w_v"].shape[-1]
        matrices.setdefault("w_o", torch.stack([small_numbers(f"{seed}/w_o/{row}", width) for row in range(height)]))
    return matrices


def small_numbers(key: str, count: int) -> Tensor:
    """One decimal each, between -1 and 1, decided by the key alone on every machine."""
    draw = random.Random(key)
    return torch.tensor([draw.randint(-10, 10) / 10 for _ in range(count)], dtype=torch.float64)


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value if math.isfinite(value) else None
