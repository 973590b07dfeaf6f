"""Writes attention.json: small cases with what the oracle says about them. Run from the repository's root:

python -m tests.golden.make_attention
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests import oracle
from tests.attention_cases import TENSORS, Case, coin, make, normal, numpy

FILE = Path(__file__).with_name("attention.json")
DIGITS = 12  # that are stored of each number
STATISTICS = ("lse", "entropy", "top_weight", "top_key", "distance", "self_weight", "first_weight")
SIZES: dict[str, Any] = {"batch": (), "queries": 3, "keys": 4, "dim": 2, "value_dim": 2}


def golden_cases() -> list[Case]:
    return [
        make("golden: plain", **SIZES, heads=1),
        make("golden: causal, groups", **SIZES, heads=2, served=1, causal=True),
        make("golden: padding, window, an empty row", **SIZES, heads=1, mask=coin(4), window=(0, 1), offset=0),
        make("golden: softcap, bias, sinks", **SIZES, heads=2, softcap=1.5, bias=normal(2, 3, 4), sinks=normal(2)),
    ]


def readable(array: np.ndarray) -> Any:
    """Rounded where nobody will miss it; -inf, which JSON does not know, as a string."""
    if array.dtype != float:
        return array.tolist()
    rounded = [float(f"{number:.{DIGITS}g}") for number in array.ravel()]
    strings = [number if np.isfinite(number) else str(number) for number in rounded]
    return np.array(strings, dtype=object).reshape(array.shape).tolist()


def number(values: Any) -> np.ndarray:
    """Stored numbers as an array, -inf among them as a string."""
    array = np.array(values, dtype=object)
    return array.astype(float) if array.dtype == object and not is_boolean(array) else array.astype(bool)


def is_boolean(array: np.ndarray) -> bool:
    return all(isinstance(value, bool) for value in array.ravel())


def expected(given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """What the oracle says about numbers as they are stored."""
    answer = oracle.attention(**{name: number(values) for name, values in given.items()}, **options)
    found = {name: readable(getattr(answer, name)) for name in (*STATISTICS, "weights", "output")}
    return {**found, "received": readable(oracle.received(answer.weights))}


def entry(case: Case) -> dict[str, Any]:
    given = {name: readable(numpy(tensor)) for name, tensor in case.tensors.items()}
    options = {name: option for name, option in case.options.items() if name not in TENSORS}
    return {"name": case.name, "given": given, "options": options, "expected": expected(given, options)}


if __name__ == "__main__":
    FILE.write_text(json.dumps([entry(case) for case in golden_cases()], indent=1) + "\n")
