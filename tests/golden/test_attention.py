"""Numbers that were right once stay the same: stored cases, and an example worked by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import attend, received
from regard.attention.steps import project
from tests.bounds import sums_apart
from tests.golden.make_attention import DIGITS, FILE, STATISTICS, expected, number

STORED: list[dict[str, Any]] = json.loads(FILE.read_text())
with_entry = pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored["name"])


def tensor(values: Any) -> Tensor:
    return torch.from_numpy(number(values))


def arguments(stored: dict[str, Any]) -> dict[str, Any]:
    return {**{name: tensor(values) for name, values in stored["given"].items()}, **stored["options"]}


def close(found: Tensor, values: Any, what: str) -> None:
    """Stored are `DIGITS`, so half a unit of the last; and sums of a few dozen terms, in float64, are rounded."""
    rounding = sums_apart(100, 1.0, torch.float64)
    torch.testing.assert_close(
        found.double(),
        tensor(values),
        atol=rounding,
        rtol=0.5 * 10.0 ** (1 - DIGITS) + rounding,
        msg=lambda text: f"{what}: {text}",
    )


@with_entry
def test_stored_outputs_and_statistics(stored: dict[str, Any]) -> None:
    output, statistics = attend(**arguments(stored), see="stats")
    close(output, stored["expected"]["output"], "output")
    for name in STATISTICS:
        close(getattr(statistics, name), stored["expected"][name], name)


@with_entry
def test_stored_weights_and_what_each_key_received(stored: dict[str, Any]) -> None:
    given = arguments(stored)
    close(attend(**given, see="steps")[1].weights, stored["expected"]["weights"], "weights")
    del given["value"]
    close(received(**given), stored["expected"]["received"], "received")


@with_entry
def test_the_oracle_still_says_so(stored: dict[str, Any]) -> None:
    """Neither a stored number was edited by hand, nor the oracle changed unnoticed."""
    made = expected(stored["given"], stored["options"])
    assert made.keys() == stored["expected"].keys()
    for name, values in stored["expected"].items():
        close(tensor(made[name]), values, name)


X = [[1, 0], [0, 1], [1, 1]]
W_Q, W_K, W_V = [[1, 0], [1, 1]], [[0, 1], [1, 0]], [[1, 2], [0, 1]]
BY_HAND = [[0.599, 2.000], [0.752, 2.255], [0.716, 2.292]]


@pytest.mark.parametrize("see", [None, "stats", "steps"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_the_example_worked_by_hand(dtype: torch.dtype, see: str | None) -> None:
    x = torch.tensor(X, dtype=dtype)
    query, key, value = (project(x, torch.tensor(weight, dtype=dtype)) for weight in (W_Q, W_K, W_V))
    found = attend(query, key, value, see=see)
    output = found if see is None else found[0]
    # Half a unit of the third digit, which is all that was written; and a sum of three values up to 3, in this dtype.
    bound = 5e-4 + sums_apart(3, 3.0, dtype)
    torch.testing.assert_close(output[0].double(), torch.tensor(BY_HAND, dtype=torch.float64), atol=bound, rtol=0)
