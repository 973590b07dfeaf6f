"""One meaning, however it is computed: every backend, dtype and device against the oracle, in value and gradient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.attention import attend
from tests.attention_cases import (
    BY_NAME,
    CASES,
    DEVICES,
    Case,
    attend_module,
    drawer,
    fits_fused,
    force_blocks,
    grid,
    hide,
    make,
    numpy,
    plain_steps,
    run_backend,
)
from tests.bounds import sums_apart

BACKENDS = sorted(attend_module.BACKENDS)
FUSED = [case for case in CASES if fits_fused(case)]
NARROW = (torch.float32, torch.float16, torch.bfloat16)
FORCED = [(2, 3), (4, 1)]  # rows x columns of a block: small, and not dividing the cases' sizes evenly

# Said once by a backward pass on a GPU whose thread meets cuBLAS for the first time.
pytestmark = pytest.mark.filterwarnings("ignore:Attempting to run cuBLAS")
on_devices = pytest.mark.parametrize("device", DEVICES)
with_backend = pytest.mark.parametrize(
    ("backend", "case"),
    [(backend, case) for backend in BACKENDS for case in (FUSED if backend == "fused" else CASES)],
    ids=str,
)


def worst(found: Tensor, expected: np.ndarray | Tensor) -> float:
    """The largest error; NaN counts as infinite, so that it can pass no bound."""
    expected = numpy(expected) if isinstance(expected, Tensor) else expected
    gap = np.abs(numpy(found) - expected)
    return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))


def magnitude(expected: np.ndarray | Tensor) -> float:
    expected = numpy(expected) if isinstance(expected, Tensor) else expected
    return float(np.abs(expected).max(initial=0.0))


def twice_the_plain_error(case: Case, dtype: torch.dtype) -> float:
    """The error budget; a few roundings of the answer itself are free, for where the plain version is exact."""
    expected = case.answer.output
    budget = 2 * worst(plain_steps(case, dtype), expected) + 4 * torch.finfo(dtype).eps * magnitude(expected)
    assert np.isfinite(budget), "a bound that anything passes"
    return budget


def test_enough_cases_go_through_the_fused_backend() -> None:
    assert len(FUSED) > 90
    for dtype in NARROW:
        assert sum(fits_fused(case.to(dtype)) for case in CASES) > 85


@on_devices
@with_backend
def test_output_in_float64(backend: str, case: Case, device: str) -> None:
    case = case.to(torch.float64, device)
    output = run_backend(backend, case)
    assert output.dtype == torch.float64
    assert output.shape == case.answer.output.shape
    assert worst(output, case.answer.output) <= case.outputs_apart()


@on_devices
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@with_backend
def test_output_within_twice_the_error_of_the_plain_steps(
    backend: str, case: Case, dtype: torch.dtype, device: str
) -> None:
    case = case.to(dtype, device)
    output, expected = run_backend(backend, case), case.answer.output
    assert output.dtype == dtype
    assert worst(output, expected) <= twice_the_plain_error(case, dtype)


@on_devices
@pytest.mark.parametrize("blocks", FORCED, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_tiled_output_over_many_blocks(
    case: Case, blocks: tuple[int, int], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_blocks(monkeypatch, *blocks)
    case = case.to(torch.float64, device)
    assert worst(run_backend("tiled", case), case.answer.output) <= case.outputs_apart()


@on_devices
@pytest.mark.parametrize("dtype", [torch.float64, *NARROW], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_door_itself(case: Case, dtype: torch.dtype, device: str) -> None:
    """`attend` chooses a backend; whichever it is, and whatever is asked to be seen, the output is the same."""
    case = case.to(dtype, device)
    expected = case.answer.output
    # In float64 the oracle's own rounding is as large as ours.
    budget = case.outputs_apart() if dtype == torch.float64 else twice_the_plain_error(case, dtype)
    for see in (None, "stats", "steps"):
        found = attend(case.query, case.key, case.value, **case.options, see=see)
        output = found if see is None else found[0]
        assert output.dtype == dtype
        assert output.shape == expected.shape
        assert worst(output, expected) <= budget, see


# ---- gradients ------------------------------------------------------------------------------------------------------

QKV = ("query", "key", "value")


def gradients(case: Case, run: Callable[[Case], Tensor], *names: str) -> dict[str, Tensor]:
    """The gradient of the tensors named (all of floats, if none is), for one fixed gradient of the output."""
    case, leaves = case.with_grad(*names)
    output = run(case)
    output.backward(drawer(f"pull {case.name}")(*output.shape).to(output))
    return {name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for name, leaf in leaves.items()}


def plain_gradients(case: Case, dtype: torch.dtype, *names: str) -> dict[str, Tensor]:
    return gradients(case, lambda leaves: plain_steps(leaves, dtype), *names)


def gradients_apart(case: Case) -> float:
    """In float64: a gradient is a sum over queries, keys and values, and no part of it is larger than their product.

    That is: a pull on the output, times a value, times what a score is multiplied from; each of these sums has terms of
    its own, and the weights among its factors are off as weights are.
    """
    parts = [case.query, case.key, case.value, drawer(f"pull {case.name}")(*case.answer.output.shape)]
    if not all(part.numel() for part in parts):
        return 0.0
    query, key, value, pull = (max(1.0, part.double().abs().max().item()) for part in parts)
    (*_, queries, dim), (*_, keys, values) = case.query.shape, case.value.shape
    scale = case.options.get("scale")
    size = (
        pull * value * values * max(1.0, abs(dim**-0.5 if scale is None else scale) * max(query, key)) * queries * keys
    )
    return size * (2 * case.apart() + sums_apart(queries + keys + values, 1.0, torch.float64))


def trained(backend: str) -> tuple[str, ...]:
    """What has a gradient: everything, but SDPA is given no bias that is trained."""
    return QKV if backend == "fused" else ()


@on_devices
@with_backend
def test_gradients_in_float64(backend: str, case: Case, device: str) -> None:
    case = case.to(torch.float64, device)
    found = gradients(case, lambda leaves: run_backend(backend, leaves), *trained(backend))
    for name, exact in plain_gradients(case.widened(), torch.float64, *trained(backend)).items():
        eps = torch.finfo(found[name].dtype).eps  # an argument may have a narrower dtype than the rest
        bound = gradients_apart(case) + 2 * eps * magnitude(exact)
        assert worst(found[name], exact) <= bound, name


@on_devices
@pytest.mark.parametrize("blocks", FORCED, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_tiled_gradients_over_many_blocks(
    case: Case, blocks: tuple[int, int], device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force_blocks(monkeypatch, *blocks)
    test_gradients_in_float64("tiled", case, device)


@on_devices
@with_backend
def test_gradients_in_float32_within_twice_the_error_of_the_plain_steps(backend: str, case: Case, device: str) -> None:
    case = case.to(torch.float32, device)
    names = trained(backend)
    found = gradients(case, lambda leaves: run_backend(backend, leaves), *names)
    plain = plain_gradients(case, torch.float32, *names)
    for name, exact in plain_gradients(case.widened(), torch.float64, *names).items():
        # A backward pass that makes the weights again from lse knows them to eps * |score|, whoever wrote it.
        coarser = max(torch.finfo(dtype).eps for dtype in (torch.float32, found[name].dtype))
        grain = coarser * case.largest_score()
        budget = 2 * worst(plain[name], exact) + 16 * grain * max(1.0, magnitude(exact))
        assert worst(found[name], exact) <= budget < np.inf, name


@on_devices
@pytest.mark.parametrize("dtype", [torch.float64, *NARROW], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["empty rows", "all masked", "empty rows, added", "causal, more queries than keys"])
def test_empty_rows_have_gradients_of_zero(name: str, backend: str, dtype: torch.dtype, device: str) -> None:
    case = BY_NAME[name].to(dtype, device)
    assert fits_fused(case)
    output = run_backend(backend, case)
    found = gradients(case, lambda leaves: run_backend(backend, leaves), *QKV)
    empty = ~torch.from_numpy(case.answer.visible.any(-1))
    assert empty.any()
    assert not output[empty].any()
    assert not found["query"][empty].any()
    assert all(gradient.isfinite().all() for gradient in found.values())


# ---- NaN stays visible ----------------------------------------------------------------------------------------------


SOME = grid("110000", "000000", "001100", "111111", "000000", "100001")
NAN_CASES = [
    make("to be spoilt", queries=6, keys=6),
    make("to be spoilt, causal", queries=6, keys=6, causal=True),
    make("to be spoilt, groups, window", heads=4, served=2, queries=6, keys=6, window=(1, 1)),
    make("to be spoilt, masked", queries=6, keys=6, mask=SOME),
    make("to be spoilt, biased", queries=6, keys=6, bias=hide(SOME)),
]
PLACES = (0, 2, 5)  # early, in the middle, last


@pytest.fixture(params=[*BACKENDS, "tiled, small blocks"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "tiled, small blocks":
        force_blocks(monkeypatch, 2, 2)
        return "tiled"
    return request.param


def spoil(case: Case, name: str, place: int) -> Case:
    """One NaN in every head at one place of query, key or value."""
    tensor = case.tensors[name].clone()
    tensor[..., place, 1] = torch.nan
    return case.giving(**{name: tensor})


def looks_at(case: Case, name: str, place: int) -> Tensor:
    """Which rows the oracle says are touched by that place: (batch..., heads, queries)."""
    visible = torch.from_numpy(case.answer.visible)
    if name == "query":
        return visible.any(-1) & (torch.arange(visible.shape[-2]) == place)
    return visible[..., place]


with_nan = pytest.mark.parametrize("case", NAN_CASES, ids=str)
in_dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)


@on_devices
@in_dtypes
@pytest.mark.parametrize("name", QKV)
@with_nan
def test_nan_shows_in_every_row_that_looks_at_it(
    case: Case, name: str, dtype: torch.dtype, backend: str, device: str
) -> None:
    case = case.to(dtype, device)
    for place in PLACES:
        output = run_backend(backend, spoil(case, name, place)).cpu()
        assert output.isnan().any(-1)[looks_at(case, name, place)].all(), place


@on_devices
@in_dtypes
@pytest.mark.parametrize("name", QKV)
@with_nan
def test_an_empty_row_is_zero_even_beside_nan(
    case: Case, name: str, dtype: torch.dtype, backend: str, device: str
) -> None:
    case = case.to(dtype, device)
    empty = ~torch.from_numpy(case.answer.visible.any(-1))
    for place in PLACES:
        output = run_backend(backend, spoil(case, name, place)).cpu()
        assert (output[empty] == 0).all(), place


@on_devices
@with_nan
def test_a_nan_query_touches_its_own_row_alone(case: Case, backend: str, device: str) -> None:
    case = case.to(torch.float64, device)
    output = run_backend(backend, spoil(case, "query", 2)).cpu()
    others = torch.arange(6) != 2
    assert worst(output[..., others, :], case.answer.output[..., others.numpy(), :]) <= case.outputs_apart()


@on_devices
@pytest.mark.parametrize("ours", ["steps", "tiled"])
@with_nan
def test_a_nan_key_touches_no_row_it_is_hidden_from(
    case: Case, ours: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hidden cells are filled, not added to: NaN + -inf would be NaN (and is, inside SDPA)."""
    force_blocks(monkeypatch, 2, 2)
    case = case.to(torch.float64, device)
    output = run_backend(ours, spoil(case, "key", 2)).cpu()
    others = ~looks_at(case, "key", 2)
    assert worst(output[others], case.answer.output[others.numpy()]) <= case.outputs_apart()


@on_devices
@pytest.mark.parametrize("see", [None, "stats", "steps"])
def test_nan_in_an_additive_mask_shows(see: str | None, device: str) -> None:
    case = BY_NAME["plain"].to(torch.float64, device)
    mask = torch.zeros(5, 7, dtype=torch.float64, device=device)
    mask[3, 1] = torch.nan
    found = attend(case.query, case.key, case.value, mask=mask, see=see)
    output = found if see is None else found[0]
    assert output[..., 3, :].isnan().all()
    assert output[..., :3, :].isfinite().all()
