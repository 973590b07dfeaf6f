"""Norms of values through W_O by its squares, for several layers at once, are those of the products themselves."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.lens.assembly import step as module
from regard.lens.assembly.step import MANY, by_squares, value_norms
from tests.bounds import eps


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def direct(value: Tensor, projection: Tensor, heads: tuple[int, ...]) -> Tensor:
    """|v W_O| head by head, in float64."""
    width, group = value.shape[-1], len(heads) // value.shape[1]
    by_head = projection.double().unflatten(1, (-1, width))
    return torch.stack(
        [(value[:, place // group].double() @ by_head[:, head].T).norm(dim=-1) for place, head in enumerate(heads)], 1
    )


@pytest.mark.parametrize("heads", [(0, 1, 2, 3), (1, 2), (3, 0)], ids=str)
@pytest.mark.parametrize("served", [1, 2])
def test_one_layer_by_either_way(heads: tuple[int, ...], served: int) -> None:
    projection = drawn(12, 4 * 4)
    for keys in (MANY * 4, MANY * 4 + 1):
        value = drawn(2, served, keys, 4, seed=1)
        wanted = direct(value, projection, heads)
        bound = 64 * eps() * wanted.max().item()
        torch.testing.assert_close(value_norms(value, projection, heads).double(), wanted, atol=bound, rtol=0)


def test_several_layers_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROJECTED", 3 * 2 * 4 * 4 * 5)
    value, projection = drawn(3, 2, 2, 17, 4), drawn(3, 12, 16, seed=1)
    norms = by_squares(value, projection, (0, 1, 2, 3))
    for layer in range(3):
        wanted = direct(value[layer], projection[layer], (0, 1, 2, 3))
        torch.testing.assert_close(norms[layer].double(), wanted, atol=64 * eps() * wanted.max().item(), rtol=0)


def test_a_value_that_a_matrix_takes_to_nothing_has_no_norm() -> None:
    """Squares lose half of the digits: in float64 they have them."""
    projection = torch.zeros(12, 8)
    projection[:, 0] = 1e3
    value = torch.zeros(1, 2, 20, 4)
    value[..., 1] = 1e3
    value[:, 0, 0, 0] = 1e-3
    norms = by_squares(value[None], projection[None], (0, 1))[0]
    assert norms[0, 0, 0].item() == pytest.approx(12**0.5, rel=1e-6)
    assert not norms[0, 0, 1:].any()
    assert not norms[0, 1].any()
