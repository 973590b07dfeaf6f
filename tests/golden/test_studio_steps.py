"""The numbers that the studio's page is tested with (studio/tests/steps) are those of `regard.steps`, still."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.make_studio_steps import FILE, golden

SUMS = 1e-12  # float64, sums of at most eight products of numbers below 10, in another order


def test_the_golden_sheets_are_those_of_regard_steps() -> None:
    compare(json.loads(FILE.read_text(encoding="utf-8")), json.loads(json.dumps(golden())), "")


def compare(stored: Any, found: Any, place: str) -> None:
    assert type(stored) is type(found), place
    if isinstance(stored, dict):
        assert stored.keys() == found.keys(), place
        for name, value in stored.items():
            compare(value, found[name], f"{place}/{name}")
    elif isinstance(stored, list):
        assert len(stored) == len(found), place
        for index, (one, other) in enumerate(zip(stored, found, strict=True)):
            compare(one, other, f"{place}/{index}")
    elif isinstance(stored, float):
        assert found == pytest.approx(stored, rel=SUMS, abs=SUMS), place
    else:
        assert stored == found, place
