"""The lse by PyTorch's kernel and block by block are one; what the kernel does not know is not asked of it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.attend import attend, attend_with_lse
from regard.attention.logsumexp import FLOATS, by_the_kernel, kernel_knows, logsumexp
from tests.bounds import weights_apart

module = import_module("regard.attention.logsumexp")

SHAPES = {"square, causal": (7, 7, True), "square": (7, 7, False), "last row": (1, 9, True), "wide": (3, 9, False)}


@pytest.fixture(autouse=True)
def none_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW", 0)


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return (2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))).to(dtype)


def masks(keys: int) -> dict[str, Tensor | None]:
    chance = torch.rand(2, 4, 1, keys, generator=torch.Generator().manual_seed(5)) > 0.4
    return {"none": None, "padding": chance[:, :1], "by head": chance, "everything": torch.zeros_like(chance[:1, :1])}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("mask", masks(1))
@pytest.mark.parametrize("shape", SHAPES)
def test_both_ways_are_one(shape: str, mask: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, keys, causal = SHAPES[shape]
    query, key = draw(2, 4, queries, 6, dtype=dtype), draw(2, 2, keys, 6, dtype=dtype, seed=1)
    options: Any = {"scale": 0.3, "causal": causal, "mask": masks(keys)[mask]}
    assert kernel_knows(query, key, options)
    quick = logsumexp(query, key, **options)
    monkeypatch.setattr(module, "kernel_knows", lambda *_: False)
    slow = logsumexp(query, key, **options)
    torch.testing.assert_close(quick, slow, atol=weights_apart(query.to(slow.dtype), key.to(slow.dtype), 0.3), rtol=0)


@pytest.mark.parametrize(
    "change",
    [
        {"softcap": 2.0}, {"bias": torch.zeros(1, 1, 7, 7)}, {"scale": 0.0},
        {"sinks": torch.zeros(4)}, {"window": (2, None)}, {"offset": 1, "causal": True},
        {"mask": torch.zeros(1, 1, 1, 7)}, {"mask": torch.ones(1, 1, 7, 7).bool()},
    ],
    ids=lambda change: "+".join(change),
)  # fmt: skip
def test_what_the_kernel_does_not_know(change: dict[str, Any]) -> None:
    query = draw(1, 4, 7, 6)
    assert kernel_knows(query, query, {"scale": 0.3, "causal": True})
    assert not kernel_knows(query, query, {"scale": 0.3, "offset": 0, **change})  # type: ignore[typeddict-item]


def test_few_cells_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that sees one key gives it all of its weight, to the last digit."""
    monkeypatch.undo()
    query = draw(1, 4, 7, 6)
    assert not kernel_knows(query, query, {"scale": 0.3, "causal": True})


def test_no_keys_and_no_queries() -> None:
    assert not kernel_knows(draw(1, 4, 0, 6), draw(1, 4, 3, 6), {"scale": 0.3})
    assert not kernel_knows(draw(1, 4, 3, 6), draw(1, 4, 0, 6), {"scale": 0.3})


def test_a_row_that_sees_nothing_is_empty_and_others_are_as_if_the_keys_were_not_there() -> None:
    query, key = draw(1, 1, 5, 4), draw(1, 1, 5, 4, seed=1)
    mask = torch.tensor([False, False, True, True, True]).view(1, 1, 1, 5)
    found = by_the_kernel(query, key, {"scale": 0.5, "causal": True, "mask": mask})
    assert found[0, 0, :2].tolist() == [float("-inf")] * 2
    without = by_the_kernel(query[..., 2:, :], key[..., 2:, :], {"scale": 0.5, "causal": True})
    torch.testing.assert_close(found[..., 2:], without, atol=weights_apart(query, key, 0.5), rtol=0)


FORWARDS: dict[str, dict[str, Any]] = {
    "all": {},
    "causal": {"causal": True},
    "window": {"causal": True, "window": (3, None)},
    "padding": {"mask": torch.tensor([[True] * 6 + [False] * 3] * 2).view(2, 1, 1, 9)},
    "rows that see nothing": {"causal": True, "mask": torch.tensor([False] * 3 + [True] * 6)},
    "bias": {"bias": torch.linspace(-2, 2, 81).view(9, 9)},
    "another value dim": {"value_dim": 5},
    "another scale": {"scale": 0.1},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", FORWARDS)
def test_the_forward_gives_it_too_and_its_output_does_not_change(name: str, dtype: torch.dtype) -> None:
    options = dict(FORWARDS[name])
    query, key = draw(2, 4, 9, 8, dtype=dtype), draw(2, 4, 9, 8, dtype=dtype, seed=1)
    value = draw(2, 4, 9, options.pop("value_dim", 8), dtype=dtype, seed=2)
    options = {key: term.to(dtype) if key == "bias" else term for key, term in options.items()}
    output, lse = attend_with_lse(query, key, value, **options)
    assert torch.equal(output, attend(query, key, value, **options))
    assert lse is not None
    expected = attend(query, key, value, see="stats", **options)[1].lse
    torch.testing.assert_close(lse, expected, atol=weights_apart(query, key, 0.36), rtol=0)


def test_where_another_kernel_computes_only_the_output_is_given() -> None:
    query = draw(1, 4, 9, 8)
    capped, lse = attend_with_lse(query, query, query, softcap=2.0)
    assert lse is None
    assert torch.equal(capped, attend(query, query, query, softcap=2.0))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        output, lse = attend_with_lse(query, query, query)
        assert lse is None
        assert torch.equal(output, attend(query, query, query))


def test_gradients_flow_through_the_forward_that_gives_it() -> None:
    query, key, value = (draw(1, 2, 5, 4, seed=seed).requires_grad_() for seed in range(3))
    output, _ = attend_with_lse(query, key, value, causal=True)
    plain = torch.autograd.grad(attend(query, key, value, causal=True).square().sum(), (query, key, value))
    for one, other in zip(torch.autograd.grad(output.square().sum(), (query, key, value)), plain, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("keys", [9, 1])
def test_what_is_added_to_whole_rows_is_in_the_lse_or_none_is_given(keys: int) -> None:
    """The softmax does not see it, and the kernel is not told of it."""
    query, key = draw(1, 2, 9, 8), draw(1, 2, keys, 8, seed=1)
    added = draw(9, 1, seed=3)
    output, lse = attend_with_lse(query, key, key, mask=added)
    assert torch.equal(output, attend(query, key, key, mask=added))
    expected = attend(query, key, key, mask=added, see="stats")[1].lse
    assert lse is None or torch.allclose(lse, expected, atol=weights_apart(query, key, 0.36), rtol=0)
