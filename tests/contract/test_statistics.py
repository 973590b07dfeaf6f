"""What the blockwise passes say about a map they never hold, against the oracle, which holds it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from regard.attention import Statistics, attend, received, rollout, tile
from tests import oracle
from tests.attention_cases import BY_NAME, CASES, DEVICES, NOWHERE, Case, drawer, force_blocks, make, numpy

WIDE = [torch.float64, torch.float32]
HALVES = [torch.float16, torch.bfloat16]
BLOCKS = [None, (2, 3)]  # None: as they come
FIELDS = [field.name for field in fields(Statistics) if field.name != "top_key"]

on_devices = pytest.mark.parametrize("device", DEVICES)
in_blocks = pytest.mark.parametrize("blocks", BLOCKS, ids=str)
with_case = pytest.mark.parametrize("case", CASES, ids=str)


@pytest.fixture(autouse=True)
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = request.node.callspec.params.get("blocks") if hasattr(request.node, "callspec") else None
    if blocks is not None:
        force_blocks(monkeypatch, *blocks)


def seen(case: Case) -> Statistics:
    return attend(case.query, case.key, case.value, **case.options, see="stats")[1]


def tolerance(case: Case) -> float:
    """Relative: every field is a sum of weights over the keys, or over the queries, whose terms have one sign.

    But entropy weighs each weight's error with its logarithm: the mean of those is at most that of the keys.
    """
    return case.apart() * max(1, case.key.shape[-2].bit_length())


def check(found: torch.Tensor, expected: np.ndarray, bound: float, what: str = "") -> None:
    assert found.shape == expected.shape, what
    assert not found.requires_grad
    np.testing.assert_allclose(numpy(found), expected, rtol=bound, atol=bound, err_msg=what)


@on_devices
@in_blocks
@pytest.mark.parametrize("dtype", WIDE, ids=str)
@with_case
def test_every_field(case: Case, dtype: torch.dtype, blocks: tuple[int, int] | None, device: str) -> None:
    check_fields(case.to(dtype, device))


@on_devices
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@with_case
def test_every_field_for_half_precision(case: Case, dtype: torch.dtype, device: str) -> None:
    """Statistics are float32 for half-precision inputs, and as exact as if those had been float32."""
    check_fields(case.to(dtype, device))


def check_fields(case: Case, statistics: Statistics | None = None) -> None:
    statistics = seen(case) if statistics is None else statistics
    inputs = (case.query.dtype, case.key.dtype, case.value.dtype)
    wide = torch.float64 if torch.float64 in inputs else torch.float32
    for name in FIELDS:
        expected = getattr(case.answer, name)
        if name == "lse":  # float64's finfo.min, in the mask of a float32 query, is float32's in the answer
            expected = np.where(expected == NOWHERE, expected, np.maximum(expected, torch.finfo(wide).min))
        check(getattr(statistics, name), expected, tolerance(case), name)
    check_top_key(case, statistics)
    assert {getattr(statistics, name).dtype for name in FIELDS} == {wide}


def check_top_key(case: Case, statistics: Statistics) -> None:
    """The top key must carry the top weight; where the oracle's lead is clear it must be the same key."""
    assert statistics.top_key.dtype == torch.int64
    top_key, expected = numpy(statistics.top_key), case.answer.top_key
    assert ((top_key == -1) == (expected == -1)).all()
    if not case.answer.weights.shape[-1]:
        return
    carried = np.take_along_axis(case.answer.weights, np.maximum(top_key, 0)[..., None], -1)[..., 0]
    np.testing.assert_allclose(np.where(top_key < 0, 0, carried), case.answer.top_weight, rtol=10 * tolerance(case))


@on_devices
@in_blocks
def test_the_first_of_equals_is_the_top_key(blocks: tuple[int, int] | None, device: str) -> None:
    case = BY_NAME["scale 0"].to(torch.float32, device)
    assert (seen(case).top_key == 0).all()
    window = attend(case.query, case.key, case.value, scale=0.0, window=(2, 2), see="stats")[1]
    assert (numpy(window.top_key) == np.array([0, 1, 2, 3, 4])).all()


def test_empty_rows_read_as_documented() -> None:
    statistics = seen(BY_NAME["all masked"])
    assert (statistics.lse == NOWHERE).all()
    assert (statistics.top_key == -1).all()
    for name in set(FIELDS) - {"lse"}:
        assert (getattr(statistics, name) == 0).all(), name


def test_empty_rows_with_sinks_have_the_sink_for_lse() -> None:
    case = BY_NAME["sinks, empty rows"]
    empty = torch.from_numpy(~case.answer.visible.any(-1))
    sinks = case.options["sinks"][:, None].expand(empty.shape)
    torch.testing.assert_close(seen(case).lse[empty], sinks[empty])


def test_left_padding_moves_the_first_key_and_a_band_does_not() -> None:
    """first_weight is about the sink that models grow on their first real token, so it must skip padding."""
    case = make("first key", queries=6, keys=6)
    padded = seen(Case("", case.query, case.key, case.value, {"mask": torch.arange(6) >= 2}))
    weights = attend(case.query, case.key, case.value, mask=torch.arange(6) >= 2, see="steps")[1].weights
    torch.testing.assert_close(padded.first_weight, weights[..., 2])
    banded = attend(case.query, case.key, case.value, window=(1, 1), see="stats")[1]
    assert (banded.first_weight[..., 2:] == 0).all()
    assert (banded.first_weight[..., :2] > 0).all()


def test_statistics_of_a_trained_model_carry_no_graph() -> None:
    case, _ = BY_NAME["everything"].with_grad()
    output, statistics = attend(case.query, case.key, case.value, **case.options, see="stats")
    assert output.requires_grad
    assert not any(getattr(statistics, field.name).requires_grad for field in fields(Statistics))


# ---- the second pass ------------------------------------------------------------------------------------------------


def second_pass(case: Case) -> dict[str, object]:
    return {"query": case.query, "key": case.key, **case.options}


@on_devices
@in_blocks
@pytest.mark.parametrize("dtype", WIDE, ids=str)
@with_case
def test_received_is_what_the_oracle_says(
    case: Case, dtype: torch.dtype, blocks: tuple[int, int] | None, device: str
) -> None:
    case = case.to(dtype, device)
    expected = oracle.received(case.answer.weights)
    check(received(**second_pass(case)), expected, tolerance(case))
    check(received(**second_pass(case), lse=seen(case).lse), expected, tolerance(case), "with lse given")


@on_devices
@pytest.mark.parametrize("dtype", HALVES, ids=str)
@with_case
def test_received_for_half_precision(case: Case, dtype: torch.dtype, device: str) -> None:
    case = case.to(dtype, device)
    check(received(**second_pass(case)), oracle.received(case.answer.weights), tolerance(case))


WEIGH_SHAPES = [(), (1,), (5,), (4, 1), (4, 5), (1, 4, 5), (2, 1, 1), (2, 4, 5)]


@on_devices
@in_blocks
@pytest.mark.parametrize("shape", WEIGH_SHAPES, ids=str)
def test_weighted_received(shape: tuple[int, ...], blocks: tuple[int, int] | None, device: str) -> None:
    case = make("weighed", heads=4, served=2, causal=True).to(torch.float64, device)
    weigh = drawer(f"weigh {shape}")(*shape)
    found = received(**second_pass(case), weigh=weigh.to(device))
    check(
        found, oracle.received(case.answer.weights, numpy(weigh)), 2 * 5 * tolerance(case)
    )  # signs differ: five rows, weighed by 2 or so


def test_weigh_may_be_whole_numbers() -> None:
    case = BY_NAME["causal with cache"]
    found = received(**second_pass(case), weigh=torch.tensor([0, 0, 1]))
    check(found, case.answer.weights[..., 2, :], tolerance(case))


CELLS = [1, 2, 3, 50, (2, 1), (1, 4), (5, 7), (3, 100)]
RECTANGLES = [(None, None), ((1, 5), (2, 9)), ((0, 1), (0, 1)), ((3, 3), (2, 4)), ((5, 6), None), (None, (10, 11))]
POOLS = ["mass", "max", "mean"]


@on_devices
@in_blocks
@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("cell", CELLS, ids=str)
@pytest.mark.parametrize("rectangle", RECTANGLES, ids=str)
def test_tile_pools_any_rectangle_as_the_oracle_does(
    rectangle: tuple, cell: int | tuple, pool: str, blocks: tuple[int, int] | None, device: str
) -> None:
    case = make("tiled", heads=4, served=2, queries=6, keys=11, causal=True, window=(6, None)).to(torch.float64, device)
    rows, columns = rectangle
    found = tile(**second_pass(case), rows=rows, columns=columns, cell=cell, pool=pool)
    pair = (cell, cell) if isinstance(cell, int) else cell
    expected = oracle.tile(case.answer.weights, rows or (0, 6), columns or (0, 11), pair, pool)
    check(found, expected, tolerance(case))


@on_devices
@in_blocks
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@with_case
def test_tile_of_every_case(case: Case, dtype: torch.dtype, blocks: tuple[int, int] | None, device: str) -> None:
    case = case.to(dtype, device)
    check(tile(**second_pass(case)), case.answer.weights, tolerance(case))
    whole = (0, case.query.shape[-2]), (0, case.key.shape[-2])
    lse = seen(case).lse
    for pool in POOLS:
        pooled = tile(**second_pass(case), lse=lse, cell=(2, 3), pool=pool)
        check(pooled, oracle.tile(case.answer.weights, *whole, (2, 3), pool), tolerance(case), pool)


@on_devices
@in_blocks
@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize("token", [0, 4, -1])
@pytest.mark.parametrize("residual", [0.5, 0.0, 1.0, 0.9])
def test_rollout_of_three_layers(
    residual: float, token: int, dtype: torch.dtype, blocks: tuple[int, int] | None, device: str
) -> None:
    sizes = {"queries": 9, "keys": 9}
    layers = [
        make("layer 1", **sizes, causal=True).to(dtype, device),
        make("layer 2", **sizes, heads=4, served=2, window=(3, 3), softcap=2.0).to(dtype, device),
        make("layer 3", **sizes, mask=torch.arange(9) < 7, sinks=lambda draw: draw(2)).to(dtype, device),
    ]
    found = rollout([second_pass(layer) for layer in layers], token, residual=residual)
    expected = oracle.rollout([layer.answer.weights for layer in layers], token, residual)
    check(found, expected, sum(map(tolerance, layers)))  # a product, of as many factors


def test_rollout_takes_the_lse_that_was_kept() -> None:
    layers = [make(f"kept {i}", batch=(), queries=6, keys=6, causal=True) for i in range(3)]
    kept = [{**second_pass(layer), "lse": seen(layer).lse} for layer in layers]
    expected = oracle.rollout([layer.answer.weights for layer in layers], 5)
    check(rollout(kept, 5), expected, sum(map(tolerance, layers)))
