"""The lse by PyTorch's kernel and block by block are one; what the kernel does not know is not asked of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.lens.recording import logsumexp as sums
from regard.lens.recording.logsumexp import by_the_kernel, knows, log_sums
from regard.lens.recording.score_terms import Terms
from tests.bounds import weights_apart

SHAPES = {"square, causal": (7, 7, True), "square": (7, 7, False), "last row": (1, 9, True), "wide": (3, 9, False)}


@pytest.fixture(autouse=True)
def none_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "FEW", 0)


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return (2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))).to(dtype)


def masks(keys: int) -> dict[str, Tensor | None]:
    chance = torch.rand(2, 4, 1, keys, generator=torch.Generator().manual_seed(5)) > 0.4
    return {"none": None, "padding": chance[:, :1], "by head": chance, "everything": torch.zeros_like(chance[:1, :1])}


@pytest.mark.parametrize("dtype", sums.FLOATS, ids=str)
@pytest.mark.parametrize("mask", masks(1))
@pytest.mark.parametrize("shape", SHAPES)
def test_both_ways_are_one(shape: str, mask: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, keys, causal = SHAPES[shape]
    query, key = draw(2, 4, queries, 6, dtype=dtype), draw(2, 2, keys, 6, dtype=dtype, seed=1)
    terms = Terms(0.3, keys - queries, causal=causal, mask=masks(keys)[mask])
    assert knows(query, key, terms)
    quick = log_sums(query, key, terms, [])
    monkeypatch.setattr(sums, "knows", lambda *_: False)
    slow = log_sums(query, key, terms, [slice(0, 1), slice(1, queries)] if queries > 1 else [slice(0, 1)])
    torch.testing.assert_close(quick, slow, atol=weights_apart(query.to(slow.dtype), key.to(slow.dtype), 0.3), rtol=0)


@pytest.mark.parametrize(
    "change",
    [
        {"softcap": 2.0}, {"bias": torch.zeros(1, 1, 7, 7)}, {"diagonals": torch.zeros(1, 13)}, {"scale": 0.0},
        {"sinks": torch.zeros(4)}, {"window": (2, None)}, {"offset": 1, "causal": True},
        {"mask": torch.zeros(1, 1, 1, 7)}, {"mask": torch.ones(1, 1, 7, 7).bool()},
    ],
    ids=lambda change: "+".join(change),
)  # fmt: skip
def test_what_the_kernel_does_not_know(change: dict[str, Any]) -> None:
    query = draw(1, 4, 7, 6)
    assert knows(query, query, Terms(0.3, 0, causal=True))
    assert not knows(query, query, Terms(**{"scale": 0.3, "offset": 0, **change}))


def test_few_cells_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that sees one key gives it all of its weight, to the last digit."""
    monkeypatch.undo()
    query = draw(1, 4, 7, 6)
    assert not knows(query, query, Terms(0.3, 0, causal=True))


def test_no_keys_and_no_queries() -> None:
    assert not knows(draw(1, 4, 0, 6), draw(1, 4, 3, 6), Terms(0.3, 0))
    assert not knows(draw(1, 4, 3, 6), draw(1, 4, 0, 6), Terms(0.3, 0))


def test_a_row_that_sees_nothing_is_empty_and_others_are_as_if_the_keys_were_not_there() -> None:
    query, key = draw(1, 1, 5, 4), draw(1, 1, 5, 4, seed=1)
    mask = torch.tensor([False, False, True, True, True]).view(1, 1, 1, 5)
    found = by_the_kernel(query, key, Terms(0.5, 0, causal=True, mask=mask))
    assert found[0, 0, :2].tolist() == [float("-inf")] * 2
    without = by_the_kernel(query[..., 2:, :], key[..., 2:, :], Terms(0.5, 0, causal=True))
    torch.testing.assert_close(found[..., 2:], without, atol=weights_apart(query, key, 0.5), rtol=0)
