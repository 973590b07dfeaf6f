"""The same numbers as the implementations people already trust, on what those can do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.attention import attend
from tests.attention_cases import DEVICES, Case, attend_module, drawer, make, normal, run_backend

on_devices = pytest.mark.parametrize("device", DEVICES)
with_backend = pytest.mark.parametrize("backend", sorted(attend_module.BACKENDS))

SDPA: dict[str, tuple[Case, dict[str, Any]]] = {
    "plain": (make("peer plain"), {}),
    "causal": (make("peer causal", queries=6, keys=6, causal=True), {"is_causal": True}),
    "scale": (make("peer scale", scale=0.3), {"scale": 0.3}),
    "groups": (make("peer groups", heads=4, served=2), {"enable_gqa": True}),
    "mask": (make("peer mask", mask=lambda draw: (draw(2, 1, 5, 7) > -0.5).index_fill(3, torch.tensor(0), True)), {}),
    "bias": (make("peer bias", bias=normal(2, 2, 5, 7)), {}),
    "value dim": (make("peer value dim", value_dim=9), {}),
}


@on_devices
@with_backend
@pytest.mark.parametrize(("case", "options"), SDPA.values(), ids=SDPA)
def test_pytorchs_own_dense_attention(case: Case, options: dict[str, Any], backend: str, device: str) -> None:
    case = case.to(torch.float64, device)
    mask = case.options.get("mask", case.options.get("bias"))
    with sdpa_kernel(SDPBackend.MATH):
        expected = F.scaled_dot_product_attention(case.query, case.key, case.value, attn_mask=mask, **options)
    torch.testing.assert_close(run_backend(backend, case), expected)


@on_devices
@pytest.mark.parametrize("padded", [False, True])
def test_the_weights_of_multihead_attention(padded: bool, device: str) -> None:
    """Its projections, our attention: output and the weights of every head."""
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64, device=device)
    x = drawer("multihead")(2, 6, 12).to(device)
    padding = (torch.arange(6, device=device) >= torch.tensor([[4], [6]], device=device)) if padded else None
    with torch.no_grad():
        expected, weights = layer(x, x, x, key_padding_mask=padding, average_attn_weights=False)
        query, key, value = (
            part.unflatten(-1, (3, 4)).transpose(-3, -2)
            for part in F.linear(x, layer.in_proj_weight, layer.in_proj_bias).chunk(3, -1)
        )
        mask = None if padding is None else ~padding[:, None, None, :]
        output, steps = attend(query, key, value, mask=mask, see="steps")
        found = layer.out_proj(output.transpose(-3, -2).flatten(-2))
    torch.testing.assert_close(steps.weights, weights)
    torch.testing.assert_close(found, expected)


def additive_scores(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """Bahdanau's score: v . tanh(q + k)."""
    return (query[..., :, None, :] + key[..., None, :, :]).tanh() @ weight


@on_devices
@with_backend
def test_bahdanaus_additive_attention_comes_through_the_same_door(backend: str, device: str) -> None:
    draw = drawer("bahdanau")
    query, key, value, weight = (draw(*shape).to(device) for shape in ((2, 1, 5, 6), (2, 1, 7, 6), (2, 1, 7, 3), (6,)))
    scores = additive_scores(query, key, weight)
    nothing = torch.zeros(2, 1, 5, 1).to(query), torch.zeros(2, 1, 7, 1).to(query)
    case = Case("bahdanau", *nothing, value, {"bias": scores, "scale": 1})
    torch.testing.assert_close(run_backend(backend, case), scores.softmax(-1) @ value)


def test_a_sink_is_one_more_key_whose_value_is_zero() -> None:
    """How models with sinks are often written: an extra column in the softmax, cut off afterwards."""
    case = make("sink as a key", heads=2, served=2)
    sinks = drawer("sink")(2)
    found = attend(case.query, case.key, case.value, sinks=sinks)
    key = F.pad(case.key, (0, 0, 0, 1))
    value = F.pad(case.value, (0, 0, 0, 1))
    bias = F.pad(torch.zeros(2, 1, 7).double(), (0, 1))
    bias[..., -1] = sinks[:, None]
    torch.testing.assert_close(found, F.scaled_dot_product_attention(case.query, key, value, attn_mask=bias[None]))


def test_a_window_of_hugging_face_counts_the_token_itself() -> None:
    """sliding_window = W there is window = (W - 1, 0) here."""
    case = make("sliding", queries=9, keys=9)
    i, j = torch.arange(9)[:, None], torch.arange(9)
    mask = (j <= i) & (j > i - 3)
    expected = F.scaled_dot_product_attention(case.query, case.key, case.value, attn_mask=mask)
    torch.testing.assert_close(attend(case.query, case.key, case.value, window=(2, 0)), expected)
    torch.testing.assert_close(attend(case.query, case.key, case.value, window=(2, None), causal=True), expected)
