"""Heads, rows and columns can be asked for as in NumPy, and what is not there is refused in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.attention import tile
from regard.errors import InputError
from regard.lens.recording_api import Recording
from tests.unit.lens.recording.test_maps import H, Made, N, inputs, record

SITE = "made.0.self"
ALL = slice(None)
# As they may be written, and what NumPy would say for them.
WRITTEN: list[tuple[Any, Any]] = [
    (None, ALL), ((2, 7), slice(2, 7)), ([2, 7], slice(2, 7)), ((-3, None), slice(-3, None)), ((None, 4), slice(0, 4)),
    ((-4, -1), slice(-4, -1)), ((None, None), ALL), ((3, 3), slice(3, 3)), (slice(2, 7), slice(2, 7)),
    (slice(None, -2), slice(0, -2)), (slice(1, 5, 1), slice(1, 5)), (range(2, 7), slice(2, 7)),
    (range(-3, 0), slice(-3, None)), (range(4), slice(0, 4)), (0, 0), (3, 3), (-1, -1), (-N, -N), (np.int64(5), 5),
    ((np.int64(1), np.int64(4)), slice(1, 4)),
]  # fmt: skip
REFUSED: list[Any] = [
    N, -N - 1, (0, N + 1), (5, 3), (-N - 1, 2), (1, 2, 3), [4], (), slice(0, N + 1), slice(0, 6, 2), slice(6, 0, -1),
    range(0, 6, 2), range(-2, 2), range(N + 1), True, 1.5, "3", (0.0, 2), (True, 3), {1, 2},
]  # fmt: skip


@pytest.fixture(scope="module")
def seen() -> Recording:
    return record(Made(causal=True), inputs())


@pytest.fixture(scope="module")
def whole(seen: Recording) -> Tensor:
    return torch.stack([seen.weights(SITE, head) for head in range(H)])


def same(found: Tensor, expected: Tensor) -> None:
    """Blocks of another shape may round otherwise in the last bit."""
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("written", "meant"), WRITTEN, ids=str)
def test_rows_and_columns_mean_what_numpy_means(seen: Recording, whole: Tensor, written: Any, meant: Any) -> None:
    same(seen.weights(SITE, 1, written), whole[1, meant])
    same(seen.weights(SITE, 1, None, written), whole[1, :, meant])
    same(seen.weights(SITE, None, written, written), whole[:, meant, meant])
    same(seen.last.tile(SITE, [0, 2], rows=written), whole[[0, 2], meant])
    one = seen.last.map(SITE).pick(0)
    dense = tile(one.query, one.key, one.lse, rows=written, columns=(0, 5), causal=True)
    same(dense[0], whole[:, meant, :5])


@pytest.mark.parametrize("written", REFUSED, ids=str)
def test_what_lies_outside_is_refused_with_what_there_is(seen: Recording, written: Any) -> None:
    for name, ask in (
        ("rows", lambda: seen.weights(SITE, 0, written)),
        ("columns", lambda: seen.tile(SITE, columns=written)),
        ("rows", lambda: seen.to_svg(site=SITE, head=0, rows=written)),
    ):
        with pytest.raises(InputError) as caught:
            ask()
        message = str(caught.value)
        assert message.startswith(f"{name} must be")
        assert f"of {N}" in message
        assert f"{-N} to {N - 1}" in message


def test_heads_are_one_some_or_all(seen: Recording, whole: Tensor) -> None:
    assert seen.weights(SITE).shape == (H, N, N)
    same(seen.weights(SITE), whole)
    same(seen.weights(SITE, [0, 2]), whole[[0, 2]])
    same(seen.weights(SITE, (3, 1, 2)), whole[[3, 1, 2]])
    same(seen.weights(SITE, range(1, 3)), whole[1:3])
    assert seen.weights(SITE, [1]).shape == (1, N, N)
    assert seen.weights(SITE, np.int64(1)).shape == (N, N)
    same(seen.weights(SITE, 1), whole[1])
    assert seen.weights(SITE, 1, 3, 2).ndim == 0
    assert seen.weights(SITE, [0, 3], 3).shape == (2, N)


@pytest.mark.parametrize("head", [H, -1, [0, H], [], "0", 1.0, True, [True]])
def test_heads_that_are_not_there(seen: Recording, head: Any) -> None:
    with pytest.raises(InputError, match=r"heads 0, 1, 2, 3"):
        seen.weights(SITE, head)


def test_a_selection_of_heads_is_asked_for_by_the_model_s_numbers() -> None:
    seen = record(Made(causal=True), inputs(), heads=[3, 1])
    every = record(Made(causal=True), inputs()).weights(SITE)
    same(seen.weights(SITE), every[[3, 1]])
    same(seen.weights(SITE, [1, 3]), every[[1, 3]])
    with pytest.raises(InputError, match="head 0 of made"):
        seen.weights(SITE, [1, 0])


def test_a_row_of_one_head_or_of_all(seen: Recording, whole: Tensor) -> None:
    same(seen.row(SITE, 2, -1), whole[2, -1])
    same(seen.row(SITE, None, 4), whole[:, 4])
    same(seen.row(SITE, [1, 0], 4), whole[[1, 0], 4])
    for query in (N, -N - 1, 1.0, (0, 1)):
        with pytest.raises(InputError, match=rf"choose 0 to {N - 1}"):
            seen.row(SITE, 0, query)


def test_one_row_of_cells_has_no_dim(seen: Recording, whole: Tensor) -> None:
    pooled = seen.tile(SITE, 0, 3, (0, 9), cell=(1, 3))
    same(pooled, whole[0, 3, :9].reshape(3, 3).sum(-1))
    assert seen.tile(SITE, None, (0, 8), 2, cell=(4, 1)).shape == (H, 2)


def test_pictures_and_tables_take_the_same(seen: Recording, tmp_path: Any) -> None:
    for rows, columns in ((3, slice(-4, None)), (range(2, 5), (None, 3))):
        seen.to_csv(tmp_path / "some.csv", SITE, 1, rows=rows, columns=columns)
        lines = (tmp_path / "some.csv").read_text().splitlines()
        wanted = np.atleast_2d(np.arange(N)[rows] if isinstance(rows, int) else np.array(rows))
        assert len(lines) == 1 + wanted.size
        seen.to_png(tmp_path / "some.png", SITE, 1, rows=rows, columns=columns)
        assert seen.to_svg(site=SITE, head=1, rows=rows, columns=columns).startswith("<svg")
