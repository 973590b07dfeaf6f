"""Who may look where: the grids as they are drawn in the documentation, and every band against a loop."""

from __future__ import annotations

import itertools

import pytest
import torch

from regard.attention import attend, received, tile
from regard.attention.masks import Sight, cut
from tests import oracle
from tests.attention_cases import BY_NAME, grid, make, numpy
from tests.bounds import FUNCTIONS, sums_apart

CPU = torch.device("cpu")
DRAWN = [
    ({"causal": True}, ("1000", "1100", "1110", "1111")),
    ({"window": (1, 0)}, ("1000", "1100", "0110", "0011")),
    ({"window": (0, 1)}, ("1100", "0110", "0011", "0001")),
    ({"mask": torch.tensor([True, True, False, False])}, ("1100", "1100", "1100", "1100")),
    ({"causal": True, "window": (1, 3)}, ("1000", "1100", "0110", "0011")),
    ({"causal": True, "offset": 1}, ("1100", "1110", "1111", "1111")),
    ({"causal": True, "offset": -1}, ("0000", "1000", "1100", "1110")),
    ({"window": (0, 0), "offset": 2}, ("0010", "0001", "0000", "0000")),
    ({"window": (None, 0), "mask": torch.tensor([False, True, True, True])}, ("0000", "0100", "0110", "0111")),
]


@pytest.mark.parametrize(("options", "rows"), DRAWN, ids=str)
def test_grids_as_drawn(options: dict, rows: tuple[str, ...]) -> None:
    case = make("drawn", batch=(), heads=1, queries=4, keys=4, **options)
    weights = attend(case.query, case.key, case.value, **options, see="steps")[1].weights
    assert torch.equal(weights[0] > 0, grid(*rows))


def test_three_queries_after_a_cache_of_two() -> None:
    case = make("cache", batch=(), heads=1, queries=3, keys=5)
    weights = attend(case.query, case.key, case.value, causal=True, see="steps")[1].weights
    assert torch.equal(weights[0] > 0, grid("11100", "11110", "11111"))


SIDES = [None, 0, 1, 3, 20]
SIZES = [(1, 1), (4, 4), (3, 7), (7, 3), (1, 6), (6, 1), (0, 3), (3, 0)]
BANDS = [
    Sight(queries, keys, offset, left, right)
    for (queries, keys), offset, left, right in itertools.product(SIZES, [-9, -2, 0, 3, 9], SIDES, SIDES)
]


def loop(sight: Sight) -> torch.Tensor:
    window = (sight.left, sight.right)
    return torch.from_numpy(oracle.band(sight.queries, sight.keys, causal=False, window=window, offset=sight.offset))


def whole(sight: Sight) -> torch.Tensor:
    found = sight.block(slice(0, sight.queries), slice(0, sight.keys), CPU)
    return torch.ones(sight.queries, sight.keys, dtype=torch.bool) if found is None else found


def test_every_band_against_a_loop() -> None:
    for sight in BANDS:
        assert torch.equal(whole(sight), loop(sight)), sight


def test_a_bound_that_hides_nothing_is_left_out() -> None:
    """Then `banded` says whether anything is hidden, and a window wider than the text costs nothing."""
    for given in BANDS:
        sight = Sight.over(given.queries, given.keys, given.offset, (given.left, given.right))
        assert torch.equal(loop(sight), loop(given)), given
        if sight.queries and sight.keys:
            assert sight.banded == (not loop(given).all()), given


def test_every_block_of_a_band() -> None:
    """Blocks are where an off-by-one hides: each must be its part of the whole, and None only if all is visible."""
    for sight in BANDS[::7]:
        expected = loop(sight)
        for top, left in itertools.product(range(0, sight.queries, 2), range(0, sight.keys, 3)):
            rows, columns = slice(top, min(top + 2, sight.queries)), slice(left, min(left + 3, sight.keys))
            block = sight.band(rows, columns, CPU)
            part = expected[rows, columns]
            assert part.all() if block is None else torch.equal(block, part), (sight, rows, columns)


def test_a_span_leaves_out_nothing_that_can_be_seen() -> None:
    for sight in BANDS:
        for top in range(0, sight.queries, 2):
            rows = slice(top, min(top + 2, sight.queries))
            span = sight.span(rows)
            assert 0 <= span.start <= span.stop <= sight.keys
            columns = loop(sight)[rows].any(0).nonzero().flatten().tolist()
            assert set(columns) <= set(range(span.start, span.stop)), (sight, rows)


def test_a_span_of_a_window_is_as_narrow_as_the_window() -> None:
    """Otherwise a window over 100,000 tokens would cost as much as no window."""
    sight = Sight(queries=1000, keys=1000, offset=0, left=10, right=5)
    span = sight.span(slice(500, 520))
    assert (span.start, span.stop) == (490, 525)


def test_causal_square_is_the_plain_triangle_alone() -> None:
    for sight in BANDS:
        if sight.causal_square and sight.queries:
            assert torch.equal(loop(sight), torch.ones(sight.queries, sight.keys).tril().bool()), sight
    assert Sight(4, 4, 0, None, 0).causal_square
    assert not Sight(4, 4, 1, None, 0).causal_square
    assert not Sight(3, 4, 0, None, 0).causal_square
    assert not Sight(4, 4, 0, 2, 0).causal_square


def test_cut_keeps_the_dims_that_broadcast() -> None:
    term = torch.arange(12).reshape(3, 4)
    rows, columns = slice(1, 3), slice(2, 4)
    assert torch.equal(cut(term, rows, columns), term[1:3, 2:4])
    assert cut(term[:1], rows, columns).shape == (1, 2)
    assert cut(term[:, :1], rows, columns).shape == (2, 1)
    assert cut(term[:1, :1], rows, columns).shape == (1, 1)


# ---- what hides a cell, and what does not ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_an_additive_mask_of_any_float_dtype_hides_by_minus_infinity(dtype: torch.dtype) -> None:
    case = BY_NAME["mask rank 2"].to(torch.float32)
    shown = case.options["mask"]
    added = torch.zeros(shown.shape, dtype=dtype).masked_fill(~shown, -torch.inf)
    expected = attend(case.query, case.key, case.value, mask=shown)
    torch.testing.assert_close(attend(case.query, case.key, case.value, mask=added), expected)


@pytest.mark.parametrize("see", [None, "stats", "steps"])
@pytest.mark.parametrize("query_dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("mask_dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_the_lowest_number_of_any_dtype_hides_nothing(
    mask_dtype: torch.dtype, query_dtype: torch.dtype, see: str | None
) -> None:
    """Hugging Face writes padding as finfo.min; a row of nothing else is a row of equals, not an empty one."""
    case = BY_NAME["plain"].to(query_dtype)
    flat = torch.zeros_like(case.query)
    mask = torch.full((7,), torch.finfo(mask_dtype).min, dtype=mask_dtype)
    found = attend(flat, case.key, case.value, mask=mask, see=see)
    output = found if see is None else found[0]
    mean = case.value.double().mean(-2, keepdim=True).expand_as(output)
    torch.testing.assert_close(
        output.double(), mean, atol=sums_apart(7, mean.abs().max().item(), query_dtype) + sums_apart(7, 3.0), rtol=0
    )  # seven keys


@pytest.mark.parametrize("see", [None, "stats", "steps"])
def test_finite_numbers_whose_sum_overflows_hide_nothing(see: str | None) -> None:
    """A padding mask and a causal one, both written with finfo.min, meet in one cell: only a true -inf hides it."""
    case = BY_NAME["plain"].to(torch.float32)
    low = torch.full((7,), torch.finfo(torch.float32).min)
    found = attend(case.query, case.key, case.value, mask=low, bias=low, see=see)
    output = found if see is None else found[0]
    torch.testing.assert_close(output, case.value.mean(-2, keepdim=True).expand_as(output))


# What people write, and how far an lse of it moves each weight: by its rounding, until that is all that is left of it.
ROUNDED = 2e4 * torch.finfo(torch.float32).eps
LOWS = [
    (-1e4, ROUNDED),
    *((low, sums_apart(5 + 7 + FUNCTIONS)) for low in (-1e5, -1e9, torch.finfo(torch.float32).min)),
]


@pytest.mark.parametrize(("low", "bound"), LOWS, ids=str)
def test_a_row_of_equally_low_numbers_has_equal_weights_everywhere(low: float, bound: float) -> None:
    """Seven keys share it, in the second pass and the gradient too, where an lse of low + log 7 has lost the log 7."""
    case = BY_NAME["plain"].to(torch.float32)
    query, mask = torch.zeros_like(case.query), torch.full((5, 7), low)
    value = case.value.clone().requires_grad_()
    output = attend(query, case.key, value, mask=mask)
    lse = attend(query, case.key, value, mask=mask, see="stats")[1].lse
    (gradient,) = torch.autograd.grad(output.sum(), value)
    for name, found in {
        "received": received(query, case.key, mask=mask),
        "received, lse given": received(query, case.key, lse, mask=mask),
        "tile, lse given": tile(query, case.key, lse, mask=mask, cell=(5, 1))[..., 0, :],
        "gradient of the value": gradient[..., 0],
    }.items():
        torch.testing.assert_close(found, torch.full_like(found, 5 / 7), atol=0, rtol=bound, msg=name)


def test_a_mask_for_one_batch_dim_of_two() -> None:
    case = BY_NAME["mask rank 5, outer batch"]
    output = attend(case.query, case.key, case.value, **case.options)
    torch.testing.assert_close(output, torch.from_numpy(case.answer.output))
    assert numpy(output).shape[:2] == (3, 2)
