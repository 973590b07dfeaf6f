"""The door: what it gives back, in which dtype, by which backend, and what it leaves alone."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import Statistics, Steps, attend, received, rollout, tile
from tests.attention_cases import BY_NAME, CASES, Case, attend_module, drawer, make, read, run_backend

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def test_the_signature_is_the_documented_one() -> None:
    parameters = inspect.signature(attend).parameters
    assert list(parameters) == [
        "query", "key", "value", "mask", "causal", "window", "offset", "scale", "softcap", "bias", "sinks", "dropout",
        "see",
    ]  # fmt: skip
    options = list(parameters.values())[3:]
    assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options)
    assert {option.name: option.default for option in options if option.default is not None} == {
        "causal": False,
        "dropout": 0.0,
    }


def test_depths_give_what_they_say() -> None:
    case = BY_NAME["group of 2"]
    inputs = case.query, case.key, case.value
    assert isinstance(attend(*inputs), Tensor)
    output, statistics = attend(*inputs, see="stats")
    assert isinstance(output, Tensor)
    assert isinstance(statistics, Statistics)
    output, steps = attend(*inputs, see="steps")
    assert isinstance(output, Tensor)
    assert isinstance(steps, Steps)


@pytest.mark.parametrize("see", [None, "stats", "steps"])
@pytest.mark.parametrize("query", DTYPES, ids=str)
@pytest.mark.parametrize("other", DTYPES, ids=str)
def test_the_output_has_the_querys_dtype(query: torch.dtype, other: torch.dtype, see: str | None) -> None:
    case = BY_NAME["causal"]
    found = attend(case.query.to(query), case.key.to(other), case.value.to(other), causal=True, see=see)
    output = found if see is None else found[0]
    assert output.dtype == query
    exact = attend(case.query, case.key, case.value, causal=True)
    coarsest = max(torch.finfo(dtype).eps for dtype in (query, other))
    # Four dims and up to seven keys, of normal numbers: a score moves by a few epsilons, and what it weighs by as many.
    torch.testing.assert_close(output.double(), exact, atol=20 * coarsest, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_statistics_are_float32_but_for_float64(dtype: torch.dtype) -> None:
    case = BY_NAME["plain"].to(dtype)
    statistics = attend(case.query, case.key, case.value, see="stats")[1]
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for field in fields(Statistics):
        found = getattr(statistics, field.name)
        assert found.dtype == (torch.int64 if field.name == "top_key" else wide)
        assert found.shape == case.query.shape[:-1]


@pytest.mark.parametrize("see", [None, "stats", "steps"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_inputs_are_left_as_they_were(case: Case, see: str | None) -> None:
    """Blocks are worked on in place; none of them may be a view of what the caller holds."""
    case = case.to(torch.float32)
    before = {name: tensor.clone() for name, tensor in case.tensors.items()}
    attend(case.query, case.key, case.value, **case.options, see=see)
    run_backend("tiled", case)
    received(case.query, case.key, **case.options)
    tile(case.query, case.key, **case.options, cell=2, pool="max")
    for name, tensor in case.tensors.items():
        assert torch.equal(tensor, before[name]), name


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("see", [None, "stats", "steps"])
def test_any_mode_of_autograd(mode: Any, see: str | None) -> None:
    case, _ = BY_NAME["everything"].with_grad()
    expected = attend(case.query, case.key, case.value, **case.options)
    with mode():
        found = attend(case.query, case.key, case.value, **case.options, see=see)
    torch.testing.assert_close((found if see is None else found[0]).detach(), expected.detach())


def test_a_whole_is_the_sum_of_its_heads() -> None:
    """Heads and batch entries never touch each other."""
    case = BY_NAME["groups, a mask for each head"]
    output = attend(case.query, case.key, case.value, **case.options)
    for batch in range(2):
        for head in range(4):
            query = case.query[batch, head : head + 1]
            key, value = (tensor[batch, head // 2 : head // 2 + 1] for tensor in (case.key, case.value))
            alone = attend(query, key, value, mask=case.options["mask"][batch, head])
            torch.testing.assert_close(output[batch, head], alone[0])


# ---- which backend --------------------------------------------------------------------------------------------------


def chosen(case: Case, dropout: float = 0.0) -> str:
    return attend_module.choose(read(case)[0], dropout)


def long(**options: Any) -> Case:
    """4,096 x 4,096 for 1 head, its tensors taking no room."""
    tensor = torch.zeros(1, 1, 1, 8).expand(1, 1, 4096, 8)
    return Case("long", tensor, tensor, tensor, options)


CHOICES = [
    ({}, "fused"),
    ({"causal": True}, "fused"),
    ({"mask": torch.ones(4096, dtype=torch.bool)}, "fused"),
    ({"softcap": 5.0}, "tiled"),
    ({"sinks": torch.zeros(1)}, "tiled"),
    ({"bias": torch.zeros(4096, requires_grad=True)}, "tiled"),
]


@pytest.mark.parametrize(("options", "backend"), CHOICES, ids=str)
def test_the_backend_of_long_inputs(options: dict, backend: str) -> None:
    assert chosen(long(**options)) == backend


@pytest.mark.parametrize("options", [{"softcap": 5.0}, {"sinks": torch.zeros(2)}], ids=str)
def test_the_backend_of_small_inputs_that_sdpa_cannot_do(options: dict) -> None:
    assert chosen(make("small", **options)) == "steps"


def test_backends_all_mean_the_same_on_one_input() -> None:
    case = make("three ways", queries=33, keys=65, causal=True, mask=lambda draw: draw(65) > -1)
    outputs = [run_backend(name, case) for name in attend_module.BACKENDS]
    for output in outputs:
        torch.testing.assert_close(output, torch.from_numpy(case.answer.output))


# ---- autocast -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"causal": True}, {"softcap": 2.0}], ids=str)
def test_statistics_are_as_exact_inside_autocast(options: dict) -> None:
    """Training runs under autocast; a matmul that autocast rounds to bfloat16 would change every number shown."""
    case = make("autocast", queries=16, keys=16, dim=16).to(torch.bfloat16)
    inputs = case.query, case.key, case.value
    expected = attend(*inputs, **options, see="stats")[1]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attend(*inputs, **options, see="stats")[1]
    for field in fields(Statistics):
        torch.testing.assert_close(getattr(found, field.name), getattr(expected, field.name), msg=field.name)


@pytest.mark.parametrize("backend", ["steps", "tiled"])
def test_gradients_are_as_exact_inside_autocast(backend: str) -> None:
    """The backward pass runs outside autocast: the forward pass must not have rounded what it makes again."""

    def gradients(enabled: bool) -> list[Tensor]:
        case, leaves = (
            make("autocast gradients", queries=16, keys=16, dim=16, softcap=2.0).to(torch.float32).with_grad()
        )
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            output = run_backend(backend, case)
        output.backward(drawer("autocast pull")(*output.shape).to(output))
        return [leaf.grad for leaf in leaves.values()]

    for found, expected in zip(gradients(True), gradients(False), strict=True):
        assert torch.equal(found, expected)


# ---- sinks keep their own precision ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_float32_sinks_are_not_rounded_beside_half_precision(dtype: torch.dtype) -> None:
    case = make("fine sinks").to(dtype)
    sinks = torch.tensor([1.0 + 2**-12, -2.0 - 2**-11])
    hidden = attend(case.query, case.key, case.value, sinks=sinks, mask=torch.tensor(False), see="stats")[1]
    assert torch.equal(hidden.lse, sinks[:, None].expand_as(hidden.lse))


def test_a_large_float32_sink_beside_float16_stays_finite() -> None:
    case = make("large sink").to(torch.float16)
    output, statistics = attend(case.query, case.key, case.value, sinks=torch.tensor([7e4, 0.0]), see="stats")
    assert output.isfinite().all()
    assert (statistics.lse[:, 0] == 7e4).all()


# ---- dropout --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["fused", "steps", "tiled"])
def test_dropout_repeats_under_a_seed_and_keeps_the_mean(backend: str) -> None:
    case = make("dropped", batch=(), heads=1, queries=400, keys=50).to(torch.float64)
    case = case.giving(value=torch.ones_like(case.value))  # without dropout every output is 1

    def run(seed: int) -> Tensor:
        torch.manual_seed(seed)
        return run_backend(backend, case, dropout=0.25)

    first = run(0)
    assert torch.equal(first, run(0))
    assert not torch.equal(first, run(1))
    assert first.var() > 1e-4
    assert abs(first.mean() - 1) < 0.02  # 400 rows of 50 weights: one standard deviation is about 0.005


def test_dropout_of_zero_drops_nothing() -> None:
    case = BY_NAME["softcap"]
    torch.testing.assert_close(
        attend(case.query, case.key, case.value, dropout=0.0), attend(case.query, case.key, case.value)
    )


@pytest.mark.parametrize("see", ["stats", "steps"])
def test_what_is_seen_is_before_dropout(see: str) -> None:
    case = BY_NAME["everything"]
    torch.manual_seed(0)
    dropped, shown = attend(case.query, case.key, case.value, **case.options, dropout=0.5, see=see)
    whole, expected = attend(case.query, case.key, case.value, **case.options, see=see)
    assert not torch.allclose(dropped, whole)
    for field in fields(shown):
        if field.name != "output":
            torch.testing.assert_close(getattr(shown, field.name), getattr(expected, field.name), msg=field.name)


def test_rollout_of_one_layer_is_half_the_row_and_half_the_token() -> None:
    case = make("one layer", batch=(), queries=6, keys=6, causal=True)
    weights = attend(case.query, case.key, case.value, causal=True, see="steps")[1].weights
    expected = 0.5 * weights.mean(0)[3]
    expected[3] += 0.5
    torch.testing.assert_close(rollout([{"query": case.query, "key": case.key, "causal": True}], 3), expected)
