"""The pages that the front end is tested with (studio/tests/widget) are read here as they are there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.make_look_page import FILE, made, numbers

CASES: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_golden_pages_hold_these_numbers(case: dict[str, Any]) -> None:
    found = numbers(case["description"], {part: case[part] for part in ("levels", "exact", "norms")})
    assert found["shares"] == case["shares"]
    for heads, stored in zip(found["maps"], case["maps"], strict=True):
        for one, other in zip(heads, stored, strict=True):
            assert one["exact"] == other["exact"]
            assert [number for row in one["numbers"] for number in row] == pytest.approx(
                [number for row in other["numbers"] for number in row], abs=1e-12
            )


def test_a_page_made_today_is_described_in_the_same_way() -> None:
    """What its numbers are may differ in the last bits from machine to machine; what is said of them may not."""
    for case, today in zip(CASES, made(), strict=True):
        assert shape_of(today["description"]) == shape_of(case["description"])


def shape_of(value: Any) -> Any:
    """Names and kinds; of lists their length and first entry."""
    if isinstance(value, dict):
        return {name: shape_of(one) for name, one in value.items()}
    if isinstance(value, list):
        return [len(value), shape_of(value[0]) if value else None]
    return type(value).__name__
