"""The blockwise pass: its own backward against finite differences, and dropout that can be drawn again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import attend
from regard.attention.tiled import Dropout
from regard.errors import RegardError
from tests.attention_cases import TENSORS, Case, coin, drawer, force_blocks, holed, make, normal, run_backend

SIZES: dict[str, Any] = {"batch": (2,), "heads": 2, "served": 1, "queries": 3, "keys": 4, "dim": 2, "value_dim": 3}
CHECKED = [
    make("check plain", **SIZES),
    make("check causal", **SIZES, causal=True),
    make("check window", **SIZES, window=(1, 0)),
    make("check mask, an empty row", **SIZES, mask=coin(2, 1, 3, 4, share=0.4)),
    make("check softcap", **SIZES, softcap=1.3, spread=1.5),
    make("check sinks", **SIZES, sinks=normal(2)),
    make("check bias", **SIZES, bias=normal(2, 3, 4)),
    make("check bias that broadcasts", **SIZES, bias=normal(2, 1, 1, 4)),
    make("check bias of a row", **SIZES, bias=normal(3, 1)),
    make("check added mask and bias", **SIZES, mask=normal(4), bias=normal(2, 1, 1)),
    make("check scale", **SIZES, scale=-1.2),
    make("check everything", **SIZES, mask=normal(2, 1, 1, 4), bias=normal(2, 3, 4), sinks=normal(2), softcap=2.0,
         causal=True, window=(2, None), scale=0.9),
]  # fmt: skip


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    force_blocks(monkeypatch, 2, 3)


def as_function(case: Case, dropout: float = 0.0) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """The output as a function of every float tensor, and those tensors."""
    _, leaves = case.with_grad()

    def output(*tensors: Tensor) -> Tensor:
        torch.manual_seed(0)  # the same draw at every evaluation, or differences would mean nothing
        return run_backend("tiled", case.giving(**dict(zip(leaves, tensors, strict=True))), dropout)

    return output, list(leaves.values())


@pytest.mark.parametrize("case", CHECKED, ids=str)
def test_gradients_against_finite_differences(case: Case) -> None:
    assert torch.autograd.gradcheck(*as_function(case))


@pytest.mark.parametrize("case", CHECKED, ids=str)
def test_gradients_of_a_dropped_forward_against_finite_differences(case: Case) -> None:
    assert torch.autograd.gradcheck(*as_function(case, dropout=0.4))


def test_holes_of_a_bias_have_no_gradient() -> None:
    case, leaves = make("holes", **SIZES, bias=holed(2, 3, 4)).with_grad()
    output = run_backend("tiled", case)
    output.backward(torch.ones_like(output))
    bias = leaves["bias"]
    assert (bias.grad[bias == -torch.inf] == 0).all()
    assert bias.grad.isfinite().all()


def test_only_what_is_trained_gets_a_gradient() -> None:
    """A frozen bias of N x N must not cost a gradient of N x N."""
    case = make("frozen", **SIZES, bias=normal(2, 3, 4), sinks=normal(2))
    trained, leaves = case.with_grad("query")
    run_backend("tiled", trained).sum().backward()
    assert leaves["query"].grad is not None
    assert all(trained.tensors[name].grad is None for name in ("key", "value", "bias", "sinks"))


def test_a_gradient_that_was_expanded() -> None:
    """`.sum().backward()` sends a gradient whose every element is one number in memory."""
    case = make("expanded pull", **SIZES)
    grads = []
    for backend in ("tiled", "steps"):
        leaf_case, leaves = case.with_grad()
        run_backend(backend, leaf_case).sum().backward()
        grads.append([leaf.grad for leaf in leaves.values()])
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize("backend", ["tiled", "steps"])
def test_an_expanded_bias_gets_the_gradient_of_every_cell(backend: str) -> None:
    """Its cells share one number in memory, not one gradient."""
    case = make("expanded bias", **SIZES)
    found = []
    for bias in (torch.zeros(3, 4).double(), torch.zeros(1, 4).double().expand(3, 4)):
        bias.requires_grad_()
        output = run_backend(backend, Case("", case.query, case.key, case.value, {"bias": bias}))
        found.extend(torch.autograd.grad(output, bias, drawer("expanded bias")(*output.shape)))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("names", [("query",), ("key",), ("value",), ("bias",), ("sinks",), ("query", "bias")], ids=str)
def test_gradients_of_some_tensors_are_those_of_all(names: tuple[str, ...]) -> None:
    case = make("some", **SIZES, bias=normal(2, 3, 4), sinks=normal(2), softcap=2.0)
    found, every = [], []
    for chosen, kept in ((names, found), ((), every)):
        leaf_case, leaves = case.with_grad(*chosen)
        output = run_backend("tiled", leaf_case)
        output.backward(drawer("some pull")(*output.shape))
        kept.extend(leaves[name].grad for name in names)
    torch.testing.assert_close(found, every)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_half_precision_have_its_dtype(dtype: torch.dtype) -> None:
    case, leaves = make("half", **SIZES, bias=normal(3, 4), sinks=normal(2)).to(dtype).with_grad()
    run_backend("tiled", case).sum().backward()
    assert {leaf.grad.dtype for leaf in leaves.values()} == {dtype}


def test_statistics_do_not_change_the_gradient() -> None:
    case = make("seen", **SIZES, softcap=2.0, sinks=normal(2))
    grads = []
    for see in (None, "stats"):
        leaf_case, leaves = case.with_grad()
        found = attend(leaf_case.query, leaf_case.key, leaf_case.value, **leaf_case.options, see=see)
        (found if see is None else found[0]).sum().backward()
        grads.append([leaf.grad for leaf in leaves.values()])
    torch.testing.assert_close(*grads)


@pytest.mark.parametrize(
    "options", [{}, {"causal": True}, {"window": (150, 20)}, {"offset": -90, "causal": True}], ids=str
)
def test_blocks_as_they_come_over_many_heads(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four heads make the usual block small enough for 200 keys to cross several, in value and gradient."""
    monkeypatch.undo()
    case = make("many heads", batch=(4,), heads=16, served=8, queries=190, keys=300, dim=8, value_dim=5, **options)
    results = []
    for backend in ("tiled", "steps"):
        leaf_case, leaves = case.with_grad()
        output = run_backend(backend, leaf_case)
        output.backward(drawer("many pulls")(*output.shape))
        results.append([output.detach(), *(leaf.grad for leaf in leaves.values())])
    torch.testing.assert_close(*results)


# ---- dropout --------------------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_cells() -> None:
    block = torch.zeros(3, 5)
    dropout = Dropout(0.5, seed=7)
    first, second = (dropout.thin(block, dropout.draws(slice(0, 3), block.device)) for _ in range(2))
    assert torch.equal(first, second)
    assert set(first.unique().tolist()) <= {0.0, 2.0}


def test_blocks_of_one_pass_draw_different_cells() -> None:
    dropout, block = Dropout(0.5, seed=7), torch.zeros(8, 8)
    draws = dropout.draws(slice(0, 8), block.device)
    assert not torch.equal(dropout.thin(block, draws), dropout.thin(block, draws))


def test_no_dropout_draws_nothing() -> None:
    state = torch.get_rng_state()
    run_backend("tiled", make("undropped"))
    assert torch.equal(torch.get_rng_state(), state)


def test_dropout_is_the_weights_thinned_and_scaled() -> None:
    """With the identity for values the output is the row of weights itself: each is dropped or divided by 1 - rate."""
    case = make("thinned", batch=(), heads=1, queries=6, keys=6, causal=True)
    case = case.giving(value=torch.eye(6, dtype=torch.float64)[None])
    torch.manual_seed(3)
    dropped = run_backend("tiled", case, dropout=0.5)
    weights = torch.from_numpy(case.answer.weights)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * weights[kept])
    assert 5 < int(kept.sum()) < 18  # of 21 visible cells


def test_two_calls_draw_different_cells() -> None:
    case = make("twice")
    torch.manual_seed(0)
    assert not torch.equal(run_backend("tiled", case, 0.5), run_backend("tiled", case, 0.5))


def test_all_tensor_options_are_covered_by_the_gradient_checks() -> None:
    trained = {name for case in CHECKED for name, one in case.tensors.items() if one.is_floating_point()}
    assert trained == {"query", "key", "value", *TENSORS}


def test_second_derivatives_are_refused_in_words() -> None:
    """Without a word they would be wrong: the blocks are made again outside the graph."""
    query = torch.randn(1, 1, 4, 3, requires_grad=True)
    output, _ = attend(query, query, query, see="stats")
    with pytest.raises(RegardError, match="first derivatives only"):
        torch.autograd.grad(output.sum(), query, create_graph=True)
