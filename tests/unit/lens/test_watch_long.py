"""A long text leaves no N x N behind, in memory or in its file. Time is measured and not judged."""

from __future__ import annotations

import sys

import pytest

from benchmarks import watch_long

TOKENS = 8_192  # four heads of N x N float32 would be 1.07 GB
LINUX = sys.platform == "linux"


@pytest.mark.skipif(not LINUX, reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("name", ["regard Decoder", "Llama"])
def test_little_memory_and_true_tiles(name: str) -> None:
    found = watch_long.in_a_fresh_process(name, TOKENS)
    assert found["peak"] < 0.6e9
    assert found["apart"] < watch_long.EXACT  # random rectangles against float64
    assert found["same"]  # the file, opened again
    assert found["true"]
    assert found["file"] < 1.1 * 4 * TOKENS * (2 * watch_long.DIM + watch_long.HEADS)  # queries, keys and lse alone


def test_what_is_judged() -> None:
    good = {"peak": 1e9, "tile": 0.1, "apart": 1e-7, "same": True, "true": True}
    assert watch_long.fine(good)
    for worse in ({"peak": 1.6e9}, {"tile": 1.1}, {"apart": 1e-4}, {"same": False}, {"true": False}):
        assert not watch_long.fine({**good, **worse})


def test_tiles_are_looked_at_everywhere_below_the_diagonal() -> None:
    places = watch_long.places(1_000)
    end = 1_000 - watch_long.SIDE
    assert len(places) == watch_long.PLACES
    assert {head for head, _, _ in places} == set(range(watch_long.HEADS))
    assert all(0 <= column <= row <= end for _, row, column in places)
