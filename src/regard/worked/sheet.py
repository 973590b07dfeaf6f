"""One example with every number of every step, from a sentence, from one's own matrices or from a shipped example."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.attention import Steps, attend
from regard.attention.steps import project
from regard.drawing.plain import as_text
from regard.errors import InputError, ShapeError
from regard.worked import examples
from regard.worked.derivation import Derivation, check_sizes, placed, root_of, scale_of
from regard.worked.inventing import check_size, made_up
from regard.worked.judging import Claims
from regard.worked.options import position_codes, read_positions, read_scale, read_temperature
from regard.worked.reading import STEPS, Example, count, matrix, read_example, read_file
from regard.worked.repairing import explain
from regard.worked.sheet_html import fragment, page
from regard.worked.sheet_latex import latex
from regard.worked.sheet_numbers import ORDER, SheetNumbers
from regard.worked.sheet_terminal import sheet_view


@dataclass(frozen=True, repr=False)
class Sheet(SheetNumbers):
    """The six steps of one example: `values` holds what is known of `ORDER`, with several heads a matrix for each."""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON; what is not known is left out, a single unknown number is None."""
        words: dict[str, Any] = {"made_up": self.made_up} if self.made_up else {}
        words["tokens"] = list(self.tokens)
        if self.queries != self.tokens:
            words["queries"] = list(self.queries)
        return (
            words | self.settings() | {name: plain(self.values[name].tolist()) for name in ORDER if name in self.values}
        )

    def settings(self) -> dict[str, Any]:
        """How it was computed, where that is not the usual way."""
        settings: dict[str, Any] = {"causal": True} if self.causal else {}
        if self.d is None and self.scale is not None:
            settings["scale"] = self.scale * self.temperature
        elif self.d is not None and "q" in self.values and self.d != self.values["q"].shape[-1]:
            settings["d_k"] = self.d
        return settings | ({} if self.temperature == 1 else {"temperature": self.temperature})

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_html(self, query: str | int | None = None) -> str:
        """One self-contained page: no network, readable on a phone, light and dark."""
        return page(self, query)

    def to_latex(self, query: str | int | None = None) -> str:
        """The matrices and one row worked out, to paste into a document that uses amsmath."""
        return latex(self, query)

    def _repr_html_(self) -> str:
        return fragment(self)

    def __str__(self) -> str:
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
    scale: float | str | None = None,
    positions: Any = None,
    temperature: float | None = None,
    seed: int = 0,
    **numbers: Any,
) -> Sheet:
    """The six steps with every number, as a sheet that prints and draws itself.

    From a sentence (`steps("I love AI")`: small numbers are made up, always the same for the same seed), a shipped
    `example`, a TOML or JSON `file`, or one's own matrices (`tokens=[...], x=..., w_q=...`, or `q=, k=, v=`).

    scale        what scores are multiplied by: a number, "none", or "sqrt(d)" to divide by it, as is usual
    positions    True adds sinusoidal codes of the positions to X; a matrix adds those
    temperature  what scaled scores are divided by before the softmax

    The same three may stand in a file, beside `heads` and `causal`; what is given here goes before it.
    """
    source = read_source(text, example, file, numbers)
    settings = {"heads": heads, "causal": causal, "scale": scale, "positions": positions, "temperature": temperature}
    chosen = {name: value for name, value in settings.items() if value is not None}
    return fill(read_changed(source, chosen), d, seed)


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
    """The example with settings as asked for on top of what it says itself."""
    read: dict[str, Any] = dict(chosen)
    if "heads" in chosen:
        count(chosen["heads"])
    if "scale" in chosen:
        read |= {"scale": read_scale(chosen["scale"]), "d_k": None}
    if "temperature" in chosen:
        read["temperature"] = read_temperature(chosen["temperature"])
    if "positions" in chosen:
        read["positions"] = read_positions(chosen["positions"], matrix)
        read["matrices"] = from_inputs(example.matrices)
    return replace(example, **read)


def from_inputs(matrices: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Without the steps that positions change: they are computed again, where it is known from what."""
    known = [name for name in ("q", "k", "v") if name in matrices]
    if known and not {"x", *(f"w_{name}" for name in known)} <= matrices.keys():
        raise InputError(
            "positions are added to x, and here q, k and v are given",
            found=", ".join(known),
            do="give x, w_q, w_k and w_v, or leave positions as they are",
        )
    return {name: values for name, values in matrices.items() if name not in STEPS} if known else dict(matrices)


def fill(example: Example, d: int | None, seed: int) -> Sheet:
    """Make up what is needed and not given, and compute the rest."""
    matrices = dict(example.matrices)
    sizes = [matrix.numel() for matrix in matrices.values()]
    check_size(sum(sizes), (len(example.queries), len(example.tokens)), example.heads)
    if not example.stated and not any(step in matrices for step in STEPS):
        matrices, invented = made_up(example, d, seed)
        example = replace(example, matrices=matrices, made_up=invented or example.made_up)
    elif d is not None:
        raise InputError("d is only for numbers made up here", found=f"d={d}", do="leave d out")
    check_sizes(matrices, len(example.queries), len(example.tokens))
    matrices |= with_positions(example, matrices)
    known = {name: by_head(matrices, name, example.heads) for name in ("q", "k", "v")}
    if all(value is not None for value in known.values()):
        return whole_sheet(example, matrices, {name: value for name, value in known.items() if value is not None})
    return part_sheet(example)


def whole_sheet(example: Example, matrices: Mapping[str, Tensor], known: Mapping[str, Tensor]) -> Sheet:
    """All six steps, by `attend`."""
    root = None if example.scale is not None else example.d_k or float(known["q"].shape[-1])
    scale = (example.scale if root is None else 1.0 / math.sqrt(root)) or 1.0
    scale /= example.temperature
    _, taken = attend(known["q"], known["k"], known["v"], causal=example.causal, scale=scale, see="steps")
    later = {"scores": taken.scores, "scaled": taken.scaled, "weights": taken.weights, "output": taken.output}
    by_step = {name: value[0] if len(value) == 1 else value for name, value in {**known, **later}.items()}
    inputs = ("x", "positions", "x_p", "w_q", "w_k", "w_v")
    values = {name: matrices[name] for name in inputs if name in matrices} | by_step
    if len(taken.output) > 1 and "w_o" in matrices:
        joined = taken.output.transpose(0, 1).flatten(1)
        if joined.shape[1] != matrices["w_o"].shape[0]:
            raise ShapeError(
                f"w_o must have {joined.shape[1]} rows: heads x value dim",
                found=f"w_o {tuple(matrices['w_o'].shape)}",
                do="or leave it out",
            )
        values |= {"w_o": matrices["w_o"], "z": joined @ matrices["w_o"]}
    return sheet_of(example, values, taken, (scale, root), len(taken.output))


def part_sheet(example: Example) -> Sheet:
    """An example that starts later: from its scores or weights on."""
    derivation = Derivation.of(example)
    if any(matrix.ndim > 2 for matrix in derivation.given.values()) or example.heads > 1:
        raise InputError(
            "several heads need q, k and v", found=", ".join(derivation.given), do="give all three, or one head"
        )
    known: Mapping[str, Tensor] = derivation.follow({}, over=False)
    if example.stated:
        known = explain(Claims(derivation, example.stated)).verdict.correct
    if not any(step in known for step in STEPS):
        raise InputError(
            "there is nothing to compute from", found=", ".join(known) or "no numbers", do="give q, k and v"
        )
    own = {name: example.matrices[name] for name in ("x",) if name in example.matrices}  # without positions
    known = {**known, **own, **with_positions(example, example.matrices)}
    shown = {name: known[name] for name in ORDER if name in known}
    return sheet_of(example, shown, None, (scale_of(example), root_of(example)), 1)


def with_positions(example: Example, matrices: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The codes of positions and X with them, where there are any."""
    if example.positions is False:
        return {}
    both = placed(example, matrices)["x"]
    codes = position_codes(example.positions, matrices["x"])
    assert codes is not None
    return {"positions": codes, "x_p": both}


def sheet_of(
    example: Example,
    values: Mapping[str, Tensor],
    taken: Steps | None,
    scaling: tuple[float | None, float | None],
    heads: int,
) -> Sheet:
    """The sheet; `scaling` is what scores are multiplied by, and the d whose root it comes from."""
    return Sheet(
        tokens=example.tokens, queries=example.queries, values=values, steps=taken, scale=scaling[0], d=scaling[1],
        temperature=example.temperature, heads=heads, causal=example.causal,
        title=example.title or " ".join(example.tokens), about=example.about, made_up=example.made_up,
    )  # fmt: skip


def by_head(matrices: Mapping[str, Tensor], name: str, heads: int) -> Tensor | None:
    """q, k or v as (heads, words, dim), given or projected; None if there is neither."""
    if name in matrices:
        given = matrices[name]
        if given.ndim == 3:
            return given
        even(name, given, heads)
        return torch.unflatten(given, -1, (heads, -1)).transpose(-3, -2)
    words = matrices.get("x_p", matrices.get("x"))
    if words is None or f"w_{name}" not in matrices:
        return None
    even(f"w_{name}", matrices[f"w_{name}"], heads)
    return project(words, matrices[f"w_{name}"], heads)


def even(name: str, matrix: Tensor, heads: int) -> None:
    if matrix.shape[-1] % heads:
        raise ShapeError(
            f"{heads} heads cannot share the columns of {name} equally",
            found=f"{name} {tuple(matrix.shape)}",
            do=f"choose a width that {heads} divides",
        )


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(part) for part in value]
    return value if math.isfinite(value) else None
