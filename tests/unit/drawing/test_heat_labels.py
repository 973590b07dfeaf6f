"""Names beside a map can be seen, and do no harm."""

from __future__ import annotations

import pytest

from regard.drawing.heat_labels import cut, grouped, label


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (" animal", "animal"), (7, "7"), ("", "∅"), (" ", "␣"), ("\n", "⏎"), ("a\tb", "a⇥b"), ("\x1b[31m", "�[31m"),
        ("\u202eabc", "abc"), ("\ud800", "�"), ("e\u0301", "é"), ("a b", "a b"), ("\u2028x", "x"),
    ],
)  # fmt: skip
def test_labels_are_visible_and_harmless(token: str | int, shown: str) -> None:
    assert label(token) == shown
    assert cut("abcdef", 4) == "abc…"


def test_a_group_of_tokens_is_named_by_its_first() -> None:
    assert grouped(["a", "b", "c"], 1, 5) == ["a", "b", "c"]
    assert grouped(["a", "b", "c"], 2, 5) == ["5 a…", "7 c…"]
