"""The pass that pools a whole map, beside dense weights in float64: every mask, every term, cells of every size."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import regard
from regard.attention.pooled_map import pool_map
from regard.errors import InputError
from tests.bounds import weights_apart

Q, K, D = 50, 61, 8
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"window": (9, 3), "offset": 4},
    "padding": {"mask": torch.arange(K) < 40},
    "nothing to see": {"mask": torch.arange(Q)[:, None].remainder(7).ne(3) & (torch.arange(K) < K)},
    "bias and softcap": {"bias": torch.linspace(-2, 2, K), "softcap": 3.0, "scale": 0.7},
    "sinks": {"sinks": torch.tensor([0.5, -1.0, 2.0, 0.0]), "causal": True},
}


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(2, 4, Q, D, generator=generator), torch.randn(2, 2, K, D, generator=generator)


@pytest.mark.parametrize("cell", [1, 4, 7, 64])
@pytest.mark.parametrize("name", OPTIONS)
def test_it_is_the_dense_map_pooled(name: str, cell: int) -> None:
    query, key = inputs()
    options = OPTIONS[name]
    pooled = pool_map(query, key, cell=cell, **options)
    wide = {part: value.double() if torch.is_tensor(value) and value.is_floating_point() else value
            for part, value in options.items()}  # fmt: skip
    _, steps = regard.attend(query.double(), key.double(), key.double(), **wide, see="steps")
    weights = steps.weights
    apart = weights_apart(query, key, options.get("scale")) + 1e-6
    near = {"rtol": 0.0, "atol": apart * cell * cell}
    torch.testing.assert_close(pooled.mass.double(), boxes(weights, cell).sum((-3, -1)), **near)
    torch.testing.assert_close(pooled.largest.double(), boxes(weights, cell).amax((-3, -1)), **near)
    offset = options.get("offset", K - Q)
    hidden = weights.clone()
    for row in range(Q):
        if 0 <= row + offset < K:
            hidden[..., row, row + offset] = 0
    hidden[..., 0] = 0
    torch.testing.assert_close(pooled.apart.double(), boxes(hidden, cell).amax((-3, -1)), **near)
    torch.testing.assert_close(pooled.received.double(), weights.sum(-2), rtol=0.0, atol=apart * Q)
    _, statistics = regard.attend(query.double(), key.double(), key.double(), **wide, see="stats")
    torch.testing.assert_close(pooled.entropy.double(), statistics.entropy, rtol=0.0, atol=apart * K * 10)


def boxes(weights: torch.Tensor, cell: int) -> torch.Tensor:
    """(..., cells down, cell, cells across, cell), filled up with zeros."""
    more = (0, -weights.shape[-1] % cell, 0, -weights.shape[-2] % cell)
    filled = torch.nn.functional.pad(weights, more)
    return filled.unflatten(-1, (-1, cell)).unflatten(-3, (-1, cell))


def test_many_blocks_and_threads_give_the_same() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(1, 1, 1500, 16, generator=generator) for _ in range(2))
    before = torch.get_num_threads()
    results = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        results.append(pool_map(query, key, cell=16, causal=True))
    torch.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other)
    lse = regard.attend(query, key, key, causal=True, see="stats")[1].lse
    torch.testing.assert_close(results[0].mass, regard.tile(query, key, lse, cell=16, causal=True))


def test_a_cell_has_a_size() -> None:
    for cell in (0, 1.5, -2):
        with pytest.raises(InputError, match="cell must be"):
            pool_map(*inputs(), cell=cell)  # type: ignore[arg-type]
