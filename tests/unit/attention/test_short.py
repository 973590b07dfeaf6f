"""The few queries of a decoding step: the same numbers as by the plain steps, and only where all is plain."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import attend
from regard.attention.attend import attend_with_lse
from regard.attention.short import QUERIES, is_short
from regard.errors import RegardError
from tests.bounds import sums_apart


def inputs(queries: int, keys: int = 9, dtype: torch.dtype = torch.float32, rows: int = 3) -> list[Tensor]:
    generator = torch.Generator().manual_seed(queries)
    shapes = [(rows, 2, queries, 8), (rows, 2, keys, 8), (rows, 2, keys, 5)]
    return [torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def padding(rows: int = 3, keys: int = 9) -> Tensor:
    return (torch.arange(keys) < torch.tensor([keys, 4, 1])[:rows, None])[:, None, None]


@pytest.mark.parametrize("queries", [1, 4, QUERIES])
@pytest.mark.parametrize("mask", [None, padding()])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_plain_steps(queries: int, mask: Tensor | None, dtype: torch.dtype) -> None:
    query, key, value = inputs(queries, dtype=dtype)
    causal = queries == 1
    with torch.no_grad():
        assert is_short(query, key, value, mask, causal)
        output = attend(query, key, value, mask=mask, causal=causal)
        expected, steps = attend(query, key, value, mask=mask, causal=causal, see="steps")
        again, lse = attend_with_lse(query, key, value, mask=mask, causal=causal)
    bound = sums_apart(9, float(value.abs().max()), dtype)
    assert (output - expected).abs().max() <= bound
    assert torch.equal(output, again)
    assert lse is not None
    assert (lse - steps.masked.logsumexp(-1)).abs().max() <= bound


def test_masks_of_every_beam_are_kept_apart() -> None:
    """(texts, 1, beams, keys): each query sees its own keys, and what it does not see changes nothing."""
    query, key, value = inputs(4)
    mask = torch.rand(3, 1, 4, 9, generator=torch.Generator().manual_seed(1)) > 0.5
    mask[..., 0] = True
    with torch.no_grad():
        output = attend(query, key, value, mask=mask)
        for beam in range(4):
            rows = slice(beam, beam + 1)
            alone = attend(query[:, :, rows], key, value, mask=mask[:, :, rows])
            assert (output[:, :, rows] - alone).abs().max() <= sums_apart(9, float(value.abs().max()))


def not_plain() -> dict[str, Any]:
    query, key, value = inputs(2)
    empty = padding().clone()
    empty[1] = False
    return {
        "an empty row": (query, key, value, empty, False),
        "several causal queries": (query, key, value, None, True),
        "many queries": (*inputs(QUERIES + 1), None, False),
        "half precision": (*inputs(2, dtype=torch.bfloat16), None, False),
        "grouped heads": (query, key[:, :1], value[:, :1], None, False),
        "added numbers": (query, key, value, torch.zeros(9), False),
        "keys of other rows": (query, key[:2], value[:2], None, False),
        "other dims": (query, key[..., :7], value, None, False),
        "a mask of other keys": (query, key, value, padding(keys=8), False),
        "no tensor": (query, key, value.tolist(), None, False),
        "no keys": (query, key[:, :, :0], value[:, :, :0], None, False),
    }


@pytest.mark.parametrize("name", not_plain())
def test_all_else_goes_the_usual_way(name: str) -> None:
    query, key, value, mask, causal = not_plain()[name]
    with torch.no_grad():
        assert not is_short(query, key, value, mask, causal)


def test_gradients_and_autocast_go_the_usual_way() -> None:
    query, key, value = inputs(2)
    assert not is_short(query, key, value, None, False)
    with torch.no_grad(), torch.autocast("cpu"):
        assert not is_short(query, key, value, None, False)


def test_an_empty_row_still_gives_zeros() -> None:
    query, key, value, mask, _ = not_plain()["an empty row"]
    with torch.no_grad():
        assert attend(query, key, value, mask=mask)[1].eq(0).all()


def test_nan_stays_visible() -> None:
    query, key, value = inputs(1)
    query[0, 0, 0, 0] = float("nan")
    with torch.no_grad():
        output = attend(query, key, value)
    assert output[0, 0].isnan().all()
    assert not output[1:].isnan().any()


@pytest.mark.parametrize("options", [{"dropout": False}, {"causal": 1}, {"dropout": "0"}])
def test_wrong_arguments_are_still_refused(options: dict[str, Any]) -> None:
    query, key, value = inputs(1)
    with torch.no_grad(), pytest.raises(RegardError):
        attend(query, key, value, **options)
