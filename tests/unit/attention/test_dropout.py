"""Dropout: the right share, the right mean, the same draw from the same seed."""

from __future__ import annotations

import pytest
import torch

from regard.attention.dropout import drop, keep_factors


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(400, 500), (7, 11, 13, 101)])
def test_the_share_and_the_mean(rate: float, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    factors = keep_factors(torch.zeros(shape), rate)
    cells = factors.numel()
    spread = 5 * (rate * (1 - rate) / cells) ** 0.5
    assert abs((factors == 0).float().mean().item() - rate) < spread + 1e-4
    assert factors.unique().numel() == 2
    assert abs(factors.mean().item() - 1) < spread / (1 - rate)


def test_neighbours_are_drawn_apart() -> None:
    """Four cells share one draw of 64 bits: none of them may tell of the next."""
    torch.manual_seed(0)
    lost = (keep_factors(torch.zeros(400_000), 0.5) == 0).float().view(-1, 4)
    together = torch.corrcoef(lost.mT) - torch.eye(4)
    assert together.abs().max() < 0.02


@pytest.mark.parametrize("cells", [0, 1, 2, 3, 4, 5])
def test_any_number_of_cells(cells: int) -> None:
    assert keep_factors(torch.zeros(cells), 0.5).shape == (cells,)


def test_nothing_to_drop_is_nothing_done() -> None:
    x = torch.randn(5)
    assert drop(x, 0.0) is x
    assert drop(x, 0.5, training=False) is x


def test_a_rate_near_one_stays_finite() -> None:
    assert keep_factors(torch.zeros(1000), 1 - 1e-9).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_same_seed_draws_the_same(dtype: torch.dtype) -> None:
    like = torch.zeros(3, 5, 7, dtype=dtype)
    first, again, other = (keep_factors(like, 0.3, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert first.dtype == dtype
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_gradients_pass_where_cells_are_kept() -> None:
    x = torch.ones(1000, requires_grad=True)
    out = drop(x, 0.25)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, out.detach())
