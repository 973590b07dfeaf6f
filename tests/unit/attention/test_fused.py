"""When SDPA may serve, and that it then never falls to its dense path."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention import attend
from regard.attention.fused import GRID, fits, joint_shape, one_mask
from regard.attention.inputs import read_scores
from tests.attention_cases import (
    CASES,
    DEVICES,
    Case,
    attend_module,
    coin,
    columns_first,
    fits_fused,
    make,
    normal,
    read,
)

DENSE = 0  # torch's number for the kernel that holds queries x keys


def long(length: int = 32_768, **options: Any) -> Case:
    """A long input that takes no room itself."""
    tensor = torch.zeros(1, 1, 1, 8).expand(1, 1, length, 8)
    return Case("long", tensor, tensor, tensor, options)


FITS = [
    {},
    {"causal": True},
    {"mask": coin(7)},
    {"mask": coin(2, 2, 5, 7)},
    {"mask": normal(5, 7)},
    {"bias": normal(5, 7)},
    {"window": (1, 2)},
    {"offset": 1, "causal": True},
    {"scale": 0.3},
    {"mask": coin(7), "bias": normal(5, 7), "causal": True},
]


@pytest.mark.parametrize("options", FITS, ids=lambda options: ", ".join(options) or "nothing")
def test_what_sdpa_serves(options: dict[str, Any]) -> None:
    assert fits_fused(make("served", **options))


MISFITS = {
    "softcap": {"softcap": 3.0},
    "sinks": {"sinks": normal(2)},
    "no queries": {"queries": 0},
    "no keys": {"keys": 0},
    "no batch": {"batch": (0,)},
}


@pytest.mark.parametrize("options", MISFITS.values(), ids=MISFITS)
def test_what_sdpa_does_not_serve(options: dict[str, Any]) -> None:
    assert not fits_fused(make("not served", **options))


def test_a_trained_bias_takes_another_way() -> None:
    case, _ = make("trained bias", bias=normal(5, 7)).with_grad("bias")
    assert not fits_fused(case)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_finer_bias_is_not_rounded_to_half(dtype: torch.dtype) -> None:
    case = make("fine bias", bias=normal(5, 7), fixed={"bias": torch.float32})
    assert not fits_fused(case.to(dtype))
    assert fits_fused(case.to(torch.float32))
    assert fits_fused(make("as coarse", bias=normal(5, 7)).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_two_half_precision_terms_are_not_added_in_half_precision(dtype: torch.dtype) -> None:
    case = make("two terms", mask=normal(7), bias=normal(5, 7))
    assert not fits_fused(case.to(dtype))
    assert fits_fused(case.to(torch.float32))


# ---- nothing of size queries x keys ---------------------------------------------------------------------------------

LONG_MISFITS = {
    "window": {"window": (100, 0)},
    "causal and padding": {"causal": True, "mask": torch.ones(32_768, dtype=torch.bool)},
    "causal, offset": {"causal": True, "offset": 5},
    "mask of rows and mask of keys": {"mask": torch.ones(32_768, dtype=torch.bool), "bias": torch.zeros(32_768, 1)},
}


@pytest.mark.parametrize("options", LONG_MISFITS.values(), ids=LONG_MISFITS)
def test_long_inputs_that_would_need_a_grid_are_tiled(options: dict[str, Any]) -> None:
    """SDPA takes one mask: where that would be larger than what the caller holds, and large, blocks need less."""
    assert GRID < 32_768**2
    assert not fits_fused(long(**options))


EXPANDED = {
    "a row of booleans": {"mask": torch.ones(32_768, dtype=torch.bool).expand(1, 1, 32_768, 32_768)},
    "a row of numbers": {"mask": torch.zeros(32_768).expand(32_768, 32_768)},
    "a number for each query": {"bias": torch.zeros(32_768, 1).expand(1, 32_768, 32_768)},
    "one number": {"bias": torch.zeros(()).expand(32_768, 32_768)},
}


@pytest.mark.parametrize("options", EXPANDED.values(), ids=EXPANDED)
def test_an_expanded_mask_is_never_made_real(options: dict[str, Any]) -> None:
    """It holds one row however many it shows: Hugging Face passes padding in that form."""
    scores, _ = read(long(**options))
    if attend_module.fits(scores, 0.0):
        mask, _ = one_mask(scores)
        assert mask is None or mask.untyped_storage().nbytes() < 1 << 20


LONG_FITS = {
    "nothing": {},
    "causal": {"causal": True},
    "causal, a window that hides nothing more": {"causal": True, "window": (40_000, 5)},
    "padding": {"mask": torch.ones(32_768, dtype=torch.bool)},
    "a bias for each key": {"bias": torch.zeros(1, 1, 1, 32_768)},
}


@pytest.mark.parametrize("options", LONG_FITS.values(), ids=LONG_FITS)
def test_long_inputs_without_a_grid_stay_fused(options: dict[str, Any]) -> None:
    assert fits_fused(long(**options))


def test_dropout_over_a_long_input_is_tiled_on_a_cpu() -> None:
    """There SDPA's dropout is dense."""
    scores, _ = read(long())
    assert attend_module.choose(scores, 0.0) == "fused"
    assert attend_module.choose(scores, 0.1) == "tiled"


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The kernel torch would choose for each call of SDPA, in turn."""
    used: list[int] = []
    plain = F.scaled_dot_product_attention

    def spy(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        used.append(torch._fused_sdp_choice(query, key, value, **options))
        return plain(query, key, value, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    return used


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", [case for case in CASES if fits_fused(case)], ids=str)
def test_no_case_falls_to_the_dense_kernel(case: Case, dtype: torch.dtype, kernels: list[int]) -> None:
    case = case.to(dtype)
    attend(case.query, case.key, case.value, **case.options)
    assert DENSE not in kernels
    assert len(kernels) == fits_fused(case)


USUAL = {
    "plain": {},
    "causal": {"causal": True},
    "groups": {"served": 2},
    "groups, causal": {"served": 2, "causal": True},
    "groups, padding": {"served": 2, "mask": coin(2048)},
    "padding": {"mask": coin(2048)},
    "bias for each key": {"bias": normal(2048)},
    "value dim": {"value_dim": 32},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", USUAL.values(), ids=USUAL)
def test_large_maps_never_reach_the_dense_kernel(
    options: dict[str, Any], dtype: torch.dtype, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which kernel takes which dtype, dim and grouping differs between devices: what none takes must be tiled."""
    used: list[int] = []

    def spy(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        used.append(torch._fused_sdp_choice(query, key, value, **options))
        return query.new_zeros(*query.shape[:-1], value.shape[-1])  # the choice is the question, not the answer

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    sizes = {"heads": 4, "queries": 2048, "keys": 2048, "dim": 64, "value_dim": 64}
    case = make("usual", **{**sizes, **options}).to(dtype, device)
    assert read(case)[0].cells > GRID
    attend(case.query, case.key, case.value, **case.options)
    assert DENSE not in used


def test_gradients_do_not_fall_to_the_dense_kernel(kernels: list[int]) -> None:
    for options in FITS:
        case, _ = make("with gradients", **options).with_grad("query", "key", "value")
        attend(case.query, case.key, case.value, **case.options).sum().backward()
    assert kernels
    assert DENSE not in kernels


def test_keys_stored_dim_first_do_not_fall_to_the_dense_kernel(kernels: list[int]) -> None:
    """A cache may hold keys as (dim, length): SDPA's kernels want the last dim to be the dense one."""
    case = columns_first("stored dim first").to(torch.float32)
    attend(case.query, case.key, case.value)
    assert DENSE not in kernels


def test_groups_are_not_repeated_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """SDPA is handed the few key heads as they are."""
    shapes: list[torch.Size] = []
    plain = F.scaled_dot_product_attention

    def spy(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        shapes.append(key.shape)
        return plain(query, key, value, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    case = make("served by two", heads=8, served=2)
    attend(case.query, case.key, case.value)
    assert shapes == [torch.Size((2, 2, 7, 4))]


def test_float16_numbers_whose_sum_overflows_stay_fused() -> None:
    """The look for NaN must not take a large sum of finite numbers for one."""
    ones = torch.full((1, 1, 512, 256), 4.0, dtype=torch.float16)
    assert ones.sum().isinf()
    assert fits(read_scores(ones, ones, {}), 0.0)


@pytest.mark.parametrize("shapes", [[(3, 4)], [(4,), (2, 1, 4)], [(2, 1, 1, 5, 1), (3, 1, 1, 7), (5, 7)], [(1,), ()]])
def test_shapes_are_joined_as_torch_does(shapes: list[tuple[int, ...]]) -> None:
    assert joint_shape([torch.Size(shape) for shape in shapes]) == torch.broadcast_shapes(*shapes)
