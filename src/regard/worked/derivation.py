"""The chain x, w -> q, k, v -> scores -> scaled -> weights -> output, from whatever of it is known.

An unknown number is NaN, and arithmetic carries it along: what cannot be known from what is given stays NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.steps import by_group, project, softmax
from regard.errors import InputError, ShapeError
from regard.worked.options import position_codes
from regard.worked.reading import STEPS, Example

PARENTS = {
    "q": ("x", "w_q"),
    "k": ("x", "w_k"),
    "v": ("x", "w_v"),
    "scores": ("q", "k"),
    "scaled": ("scores",),
    "weights": ("scaled",),
    "output": ("weights", "v"),
}
Values = Mapping[str, Tensor]


@dataclass(frozen=True)
class Derivation:
    """How one example gets from step to step."""

    given: Values
    queries: int
    keys: int
    scale: float | None  # None: nothing says how many dims the keys have
    visible: Tensor | None  # None: every query may look at every key

    @classmethod
    def of(cls, example: Example) -> Derivation:
        """The chain of an example's own numbers, their sizes checked against each other."""
        given = dict(example.matrices)
        check_sizes(given, len(example.queries), len(example.tokens))
        given |= placed(example, given)
        queries, keys = len(example.queries), len(example.tokens)
        visible = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries) if example.causal else None
        return cls(given, queries, keys, scale_of(example), visible)

    def derive(self, step: str, known: Values) -> Tensor | None:
        """A step from its parents, or None when one of them is missing."""
        if step in self.given:
            return self.given[step]
        if any(parent not in known for parent in PARENTS[step]):
            return None
        if step in ("q", "k", "v"):
            return project(known["x"], known[f"w_{step}"])[0]
        if step == "scores":
            return by_group(known["q"][None], known["k"].mT[None])[0]
        if step == "scaled":
            return None if self.scale is None else known["scores"] * self.scale
        if step == "weights":
            scaled = known["scaled"]
            masked = scaled if self.visible is None else scaled.masked_fill(~self.visible, float("-inf"))
            return softmax(masked, self.visible)
        return by_group(known["weights"][None], known["v"][None])[0]

    def rows(self, step: str) -> int:
        """How many rows a step has: one for each word that looks, or that is looked at."""
        return self.keys if step in ("k", "v") else self.queries

    def follow(self, stated: Values, *, over: bool) -> dict[str, Tensor]:
        """Every step, in order; `stated` fills what cannot be derived, and with `over` takes the place of what can."""
        known = {name: value for name, value in self.given.items() if name not in STEPS}
        for step in STEPS:
            derived, written = self.derive(step, known), stated.get(step)
            if derived is not None and written is not None:
                first, second = (written, derived) if over else (derived, written)
                known[step] = torch.where(first.isnan(), second, first)
            elif derived is not None or written is not None:
                known[step] = derived if derived is not None else written  # type: ignore[assignment]
        return known


def placed(example: Example, given: Values) -> dict[str, Tensor]:
    """X with the codes of positions added, where there are any: all that follows starts from it."""
    if example.positions is False:
        return {}
    if "x" not in given:
        raise InputError(
            "positions are added to x, and there is none", found=", ".join(given), do="give x, or no positions"
        )
    codes = position_codes(example.positions, given["x"])
    assert codes is not None
    return {"x": given["x"] + codes}


def scale_of(example: Example) -> float | None:
    """What scores are multiplied by: the scale, or 1 / sqrt(d), over the temperature."""
    d = root_of(example)
    scale = example.scale if d is None else 1.0 / math.sqrt(d)
    return None if scale is None else scale / example.temperature


def root_of(example: Example) -> float | None:
    """The d whose root scores are divided by, as stated or as the width of the queries; None where a scale is given."""
    if example.d_k is not None or example.scale is not None:
        return example.d_k
    for name, dim in (("q", -1), ("k", -1), ("w_q", -1), ("w_k", -1)):
        if name in example.matrices:
            return float(example.matrices[name].shape[dim])
    widths = [max(j for _, j in statement.cells) + 1 for statement in example.stated if statement.step in ("q", "k")]
    return float(max(widths)) if widths else None


def check_sizes(given: Values, queries: int, keys: int) -> None:
    """Say which matrix does not fit the tokens or the matrix it is multiplied with."""
    from_x = {"q": queries, "k": keys, "v": keys, "x": keys}
    rows = {**from_x, "scores": queries, "scaled": queries, "weights": queries}
    for name, height in rows.items():
        if name in given and given[name].shape[-2] != height:
            raise ShapeError(
                f"{name} must have a row for each of its {height} words",
                found=f"{name} {tuple(given[name].shape)}",
                do="give one row a word, in the order of the words",
            )
    for name in ("scores", "scaled", "weights"):
        if name in given and given[name].shape[-1] != keys:
            raise ShapeError(
                f"{name} must have a column for each of the {keys} words looked at",
                found=f"{name} {tuple(given[name].shape)}",
                do="give one column a word",
            )
    for name in ("w_q", "w_k", "w_v"):
        if name in given and "x" in given and given[name].shape[-2] != given["x"].shape[-1]:
            raise ShapeError(
                f"{name} must have a row for each of the {given['x'].shape[-1]} columns of x",
                found=f"x {tuple(given['x'].shape)}, {name} {tuple(given[name].shape)}",
                do=f"x times {name} needs the columns of x to match the rows of {name}",
            )
    check_dims(given)


def check_dims(given: Values) -> None:
    """Queries and keys must be equally wide, however they come about."""
    query, key = given.get("q", given.get("w_q")), given.get("k", given.get("w_k"))
    if query is not None and key is not None and query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            "queries and keys must be equally wide",
            found=f"q {query.shape[-1]} numbers a word, k {key.shape[-1]}",
            do="a score is the dot product of one query and one key",
        )
