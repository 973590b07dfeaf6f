"""A loss that never holds all logits is the plain one: value and gradients, in every dtype, and in less memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.training.data.task_batches import IGNORE_INDEX
from regard.training.optim import linear_cross_entropy as chunked
from regard.training.optim import loss
from regard.training.optim.loss import projected_loss
from tests.bounds import FUNCTIONS, eps, sums_apart
from tests.families import FAMILIES
from tests.unit.attention.test_memory import peaks
from tests.update_cases import TASKS, batch_for, gradients_of, objective

DIM = 6


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """No batch is small enough to hold its logits, and no chunk has more than three rows of nineteen words."""
    monkeypatch.setattr(loss, "HELD", 0)
    monkeypatch.setattr(chunked, "CELLS", 60)


def case(rows: int, words: int, seed: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    x, weight = (torch.randn(n, DIM, generator=rng, dtype=torch.float64) for n in (rows, words))
    bias = torch.randn(words, generator=rng, dtype=torch.float64)
    labels = torch.randint(0, words, (rows,), generator=rng)
    labels[torch.rand(rows, generator=rng) < 0.3] = IGNORE_INDEX
    return *(tensor.to(dtype).requires_grad_() for tensor in (x, weight, bias)), labels  # type: ignore[return-value]


def both(rows: int, words: int, smoothing: float, biased: bool, tensors: Any) -> list[list[Tensor]]:
    """Loss and gradients, plain and in chunks of a few rows."""
    x, weight, bias, labels = tensors
    inputs = [x, weight, *([bias] if biased else [])]
    outcomes = []
    before, chunked.CELLS = chunked.CELLS, 3 * words
    try:
        for held in (rows * words, 0):
            loss_before, loss.HELD = loss.HELD, held
            try:
                value = projected_loss(x[None], weight, bias if biased else None, labels[None], smoothing)
                outcomes.append([value.detach(), *torch.autograd.grad(value * 0.3, inputs)])
            finally:
                loss.HELD = loss_before
    finally:
        chunked.CELLS = before
    return outcomes


CASES = st.tuples(st.integers(1, 12), st.integers(2, 19), st.floats(0, 0.9), st.booleans(), st.integers(0, 99))


@given(CASES)
def test_loss_and_gradients_are_those_of_all_logits_at_once(drawn: tuple[int, int, float, bool, int]) -> None:
    """In float64, whose sums here have no more than rows x words terms of size 10 or so."""
    rows, words, smoothing, biased, seed = drawn
    plain, pieces = both(rows, words, smoothing, biased, case(rows, words, seed))
    bound = sums_apart(rows * words + DIM + FUNCTIONS, 100.0, torch.float32)  # the plain loss is made in float32
    for one, other in zip(pieces, plain, strict=True):
        torch.testing.assert_close(one, other.double(), atol=bound, rtol=0)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_the_slopes_of_the_loss(biased: bool, smoothing: float, few_rows: None) -> None:
    x, weight, bias, labels = case(7, 5, 1)

    def value(*inputs: Tensor) -> Tensor:
        return projected_loss(inputs[0], inputs[1], inputs[2] if biased else None, labels, smoothing)

    assert torch.autograd.gradcheck(value, (x, weight, bias) if biased else (x, weight))


@given(st.integers(1, 12), st.integers(2, 19), st.integers(0, 99))
def test_in_half_precision_it_is_as_near_to_the_exact_loss_as_the_plain_one(rows: int, words: int, seed: int) -> None:
    """Both round inputs, logits and products to bfloat16, and sum in float32."""
    tensors = case(rows, words, seed, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        plain, pieces = both(rows, words, 0.1, True, tensors)
    exact, _ = both(rows, words, 0.1, True, case(rows, words, seed))
    for one, other, true in zip(pieces, plain, exact, strict=True):
        assert one.dtype == other.dtype == torch.float32
        room = (rows + DIM) * eps(torch.bfloat16) * max(1.0, float(true.abs().max()))
        assert float((one - true).abs().max()) <= 2 * float((other - true).abs().max()) + room


@pytest.mark.parametrize("name", TASKS)
def test_every_family_learns_the_same_from_it(name: str, few_rows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tied, untied, with a bias of its own; rows and positions that only fill up are among the labels."""
    model, batch = FAMILIES[name].model(dtype=torch.float64), batch_for(name, fixed=True)
    outcomes = []
    for held in (0, 1 << 40):
        monkeypatch.setattr(loss, "HELD", held)
        model.zero_grad(set_to_none=True)
        value = objective(TASKS[name])(model, batch.tensors, torch.zeros(()))
        value.backward()
        outcomes.append({"loss": value.detach().double(), **gradients_of(model)})
    largest = max(float(tensor.abs().max()) for tensor in outcomes[1].values())
    for key, expected in outcomes[1].items():
        bound = sums_apart(1000, largest)  # the plain loss is made in float32
        torch.testing.assert_close(outcomes[0][key], expected.double(), atol=bound, rtol=0, msg=lambda m, k=key: k + m)


def test_small_batches_take_the_plain_path_to_the_last_bit() -> None:
    x, weight, bias, labels = case(9, 19, 0, torch.float32)
    plain = F.cross_entropy(
        F.linear(x, weight, bias), labels, ignore_index=IGNORE_INDEX, label_smoothing=0.1, reduction="sum"
    )
    assert torch.equal(projected_loss(x, weight, bias, labels, 0.1), plain)


def test_without_gradients_there_is_only_the_loss(few_rows: None) -> None:
    x, weight, bias, labels = case(7, 5, 1)
    expected = projected_loss(x, weight, bias, labels, 0.1)
    with torch.no_grad():
        assert torch.equal(projected_loss(x, weight, bias, labels, 0.1), expected)
        assert not expected.isnan()


@pytest.mark.parametrize(("biased", "dtype"), [(True, torch.float32), (False, torch.bfloat16)])
def test_pytorch_finds_nothing_wrong_with_the_operation(biased: bool, dtype: torch.dtype, few_rows: None) -> None:
    """Its schema, its shapes without numbers, dynamic ones too, its gradients as a compiler traces them."""
    x, weight, bias, labels = case(7, 5, 1, dtype)
    torch.library.opcheck(chunked.chunked_loss, (x, weight, bias if biased else None, labels, 0.1, IGNORE_INDEX, True))


def test_a_compiled_loss_is_one_graph_for_all_numbers_of_rows(few_rows: None) -> None:
    compiled: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        compiled.append(graph)
        return graph.forward

    quick = torch.compile(projected_loss, backend=backend, dynamic=True, fullgraph=True)
    for rows in (4, 7, 12):
        x, weight, bias, labels = case(rows, 19, rows, torch.float32)
        assert torch.equal(*(one(x, weight, bias, labels, 0.1).detach() for one in (quick, projected_loss)))
    assert len(compiled) == 1


STEP = """
from regard.training.optim import linear_cross_entropy, loss
loss.HELD, linear_cross_entropy.CELLS = {held}, 1 << 22
x, weight = numbers(2048, 16, requires_grad=True), numbers(32000, 16, requires_grad=True)
loss.projected_loss(x, weight, None, torch.arange(2048), 0.1).backward()
assert x.grad.isfinite().all() and weight.grad.isfinite().all()
"""


def test_a_step_holds_no_more_than_a_few_chunks() -> None:
    """2,048 rows of 32,000 words are 250 MB, of which the plain loss holds three: logits, logarithms, gradients."""
    pieces = peaks(STEP.format(held=0))
    assert pieces["after"] - pieces["before"] < 400
