"""The rule of the claim, and which weights vectors hang on."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import regard
from regard.claims.tried import sizes
from regard.claims.tried.sizes import hangs_on, sizes_of, torch_size
from tests.claim_cases import Invented, check_rule

INVENTED: Invented = {
    "holds": {"a_head": 1.0, "together_least": 1.0, "together_most": 1.0},
    "holds in part": {"a_head": 0.125, "together_least": 1.0, "together_most": 1.0},
    "does not hold": {"a_head": 0.125, "together_least": 0.125, "together_most": 1.0},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("sizes", INVENTED)


def test_the_measurement_sees_which_weights_count() -> None:
    layer = nn.Linear(6, 4).double()
    vectors = layer(torch.randn(1, 3, 6, dtype=torch.float64))
    assert hangs_on(vectors, layer.weight) == 24
    assert hangs_on(vectors[..., :1], layer.weight) == 6


@pytest.mark.parametrize("part", sizes.PARTS)
def test_a_head_has_its_own_rows_of_the_matrix(part: str) -> None:
    assert sizes_of(32, 4, 0, part)[:2] == (32 * 8, 32 * 32)


def test_a_head_compares_as_many_dims_as_it_has() -> None:
    assert sizes_of(32, 1, 0).rank == 32
    assert sizes_of(32, 4, 0).rank == 8


def test_the_control_counts_one_of_three_matrices() -> None:
    assert torch_size(32, 4) == 32 * 32


@pytest.mark.parametrize("full", [False, True])
def test_it_holds_in_part(full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "DIMS", ((32,), (32, 48)))
    result = regard.claim("sizes").run(full=full)
    assert result.verdict == "holds in part"
    assert len(result.measurement.tables[0].rows) == len(sizes.HEADS) * (2 if full else 1)
