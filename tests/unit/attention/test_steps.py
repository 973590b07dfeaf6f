"""The six steps, against numbers worked by hand and against each other."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from regard.attention import Steps, attend
from regard.attention.steps import by_group, project, six_steps, softmax
from tests.attention_cases import drawer

X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
W_Q = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
W_K = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
W_V = torch.tensor([[1.0, 2.0], [0.0, 1.0]], dtype=torch.float64)
SCORES = [[0, 1, 1], [1, 1, 2], [1, 2, 3]]
OUTPUT = [[0.599, 2.000], [0.752, 2.255], [0.716, 2.292]]


def example() -> Steps:
    query, key, value = (project(X, weight) for weight in (W_Q, W_K, W_V))
    return six_steps(query, key, value, scale=1 / math.sqrt(2))


def test_the_example_worked_by_hand() -> None:
    steps = example()
    assert steps.scores.squeeze(0).tolist() == SCORES
    torch.testing.assert_close(steps.scaled, steps.scores / math.sqrt(2))
    weights = torch.tensor(SCORES, dtype=torch.float64).div(math.sqrt(2)).exp()
    torch.testing.assert_close(steps.weights[0], weights / weights.sum(-1, keepdim=True))
    torch.testing.assert_close(steps.output[0], torch.tensor(OUTPUT, dtype=torch.float64), atol=5e-4, rtol=0)


def test_steps_without_an_option_leave_the_scores_alone() -> None:
    steps = example()
    for name in ("capped", "biased", "masked"):
        assert torch.equal(getattr(steps, name), steps.scaled), name


def test_each_step_follows_from_the_one_before() -> None:
    draw = drawer("steps")
    query, key, value = draw(4, 5, 3), draw(2, 6, 3), draw(2, 6, 7)
    bias, visible, sinks = draw(4, 5, 6), draw(5, 6) > 0, draw(4)
    steps = six_steps(query, key, value, scale=0.3, softcap=2.0, bias=bias, visible=visible, sinks_H=sinks)
    wide_key, wide_value = key.repeat_interleave(2, 0), value.repeat_interleave(2, 0)
    torch.testing.assert_close(steps.scores, query @ wide_key.mT)
    torch.testing.assert_close(steps.scaled, 0.3 * steps.scores)
    torch.testing.assert_close(steps.capped, 2.0 * torch.tanh(steps.scaled / 2.0))
    torch.testing.assert_close(steps.biased, steps.capped + bias)
    torch.testing.assert_close(steps.masked, torch.where(visible, steps.biased, -torch.inf))
    with_sink = torch.cat([steps.masked, sinks[:, None, None].expand(4, 5, 1)], -1)
    torch.testing.assert_close(steps.weights, with_sink.softmax(-1)[..., :-1])
    torch.testing.assert_close(steps.output, steps.weights @ wide_value)


def test_attend_shows_these_same_steps_under_their_names() -> None:
    query, key, value = (project(X, weight) for weight in (W_Q, W_K, W_V))
    output, shown = attend(query, key, value, see="steps")
    for field in fields(Steps):
        torch.testing.assert_close(getattr(shown, field.name), getattr(example(), field.name))
    torch.testing.assert_close(output, shown.output)


def test_project_gives_each_head_its_own_columns() -> None:
    draw = drawer("project")
    x, weight = draw(2, 5, 6), draw(6, 8)
    heads = project(x, weight, heads=4)
    assert heads.shape == (2, 4, 5, 2)
    for head in range(4):
        torch.testing.assert_close(heads[:, head], x @ weight[:, 2 * head : 2 * head + 2])


@pytest.mark.parametrize("batch", [(), (3,), (2, 0), (2, 1, 2)], ids=str)
@pytest.mark.parametrize(("heads", "served"), [(1, 1), (4, 4), (4, 2), (6, 2), (5, 1)])
def test_by_group_serves_heads_in_a_row(batch: tuple[int, ...], heads: int, served: int) -> None:
    draw = drawer("by group")
    left, right = draw(*batch, heads, 3, 4), draw(*batch, served, 4, 5)
    torch.testing.assert_close(by_group(left, right), left @ right.repeat_interleave(heads // served, -3))


def test_softmax_of_a_row_sums_to_one_and_of_an_empty_row_to_zero() -> None:
    visible = torch.tensor([[True, True], [False, False]])
    masked = torch.where(visible, 0.0, -torch.inf).double()[None]
    assert softmax(masked, visible).tolist() == [[[0.5, 0.5], [0.0, 0.0]]]


def test_softmax_with_a_sink_sums_to_what_the_sink_leaves() -> None:
    """A sink as strong as the only key takes half."""
    weights = softmax(torch.zeros(1, 1, 1).double(), sinks_H=torch.zeros(1).double())
    assert weights.item() == 0.5


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_dropout_acts_on_the_output_and_the_shown_weights_are_those_before_it(dropout: float) -> None:
    draw = drawer("dropped steps")
    query, key, value = draw(2, 8, 4), draw(2, 8, 4), draw(2, 8, 4)
    steps = six_steps(query, key, value, scale=0.5, dropout=dropout)
    torch.testing.assert_close(steps.weights.sum(-1), torch.ones(2, 8).double())
    kept = torch.allclose(steps.output, steps.weights @ value)
    assert kept == (dropout == 0)


def test_the_steps_are_differentiable() -> None:
    def output(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        visible = torch.tensor([[True, False, True], [False, False, False]])
        return six_steps(query, key, value, scale=0.7, softcap=3.0, visible=visible).output

    draw = drawer("gradients of steps")
    inputs = [tensor.requires_grad_() for tensor in (draw(2, 2, 3), draw(1, 3, 3), draw(1, 3, 2))]
    assert torch.autograd.gradcheck(output, inputs)
