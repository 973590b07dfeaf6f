"""The rule of the claim, what its measurement sees, and both its forms in miniature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import regard
from regard.claims.lab.clauses import clause_pairs
from regard.claims.lab.controls import PROJECTED, with_projections, with_wider_feed_forward
from regard.claims.lab.small_models import parameters, small_transformer
from regard.claims.setting import Setting
from regard.claims.tried import qkv
from regard.models import seams
from tests.claim_cases import Invented, check_rule
from tests.tiny_corpora import tiny_multi30k
from tests.variant_cases import learn_little, verdict_of_losses

MUCH, NOTHING = (0.3, 0.2, 0.4), (0.0, -0.02, 0.02)
INVENTED: Invented = {
    "holds": {"query = key": MUCH, "key = value": MUCH, "embeddings directly": MUCH},
    "holds in part": {"query = key": NOTHING, "key = value": MUCH, "embeddings directly": MUCH},
    "does not hold": {"query = key": MUCH, "key = value": MUCH, "embeddings directly": NOTHING},
}


def test_the_rule_gives_every_verdict() -> None:
    check_rule("qkv", INVENTED)


def test_the_measurement_compares_with_separate_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    worse = dict.fromkeys(PROJECTED, 1.3)
    assert verdict_of_losses(monkeypatch, qkv, {**worse, "separate": 1.0}) == "holds"
    assert verdict_of_losses(monkeypatch, qkv, worse) == "does not hold"


def first_call(model: nn.Module, source: Tensor) -> tuple[Tensor, ...]:
    """Query, key and value of the encoder's first layer, and the vectors that it reads, heads side by side."""
    seen: list[tuple[Tensor, ...]] = []

    def hook(_: str, call: Any, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        seen.append(tuple(one.transpose(1, 2).flatten(2) for one in (query, key, value)))
        output: Tensor = call(query, key, value, **options)
        return output

    read: list[Tensor] = []
    attention: Any = model.get_submodule("encoder.0.self_attention")
    handle = attention.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0]))
    with seams(model)["encoder.0.self"].hooked(hook, innermost=True), torch.no_grad():
        model(source, source)
    handle.remove()
    return *seen[0], read[0]


@pytest.mark.parametrize("kind", PROJECTED)
def test_what_is_tied_is_the_same_and_nothing_else(kind: str) -> None:
    model = small_transformer(clause_pairs(100, 1), Setting(), 0)
    with_projections(model, kind)
    query, key, value, read = first_call(model, torch.tensor([[5, 6, 7, 8]]))
    assert query.equal(key) == (kind in ("query = key", "embeddings directly"))
    assert key.equal(value) == (kind in ("key = value", "embeddings directly"))
    assert query.equal(read) == (kind == "embeddings directly")


@pytest.mark.parametrize("kind", PROJECTED)
def test_all_kinds_have_as_many_parameters(kind: str) -> None:
    task = clause_pairs(100, 1)
    usual, changed = (small_transformer(task, Setting(), 0) for _ in range(2))
    with_projections(changed, kind)
    with_wider_feed_forward(changed, kind)
    a_unit_of_each_layer = 4 * (2 * 64 + 1)  # half of which rounding may cost
    assert abs(parameters(changed) - parameters(usual)) <= a_unit_of_each_layer / 2


@pytest.mark.parametrize("full", [False, True])
def test_both_forms_in_miniature(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn_little(monkeypatch)
    result = regard.claim("qkv").run(full=full, data=tiny_multi30k(tmp_path), seeds=[0, 1])
    assert set(result.measurement.numbers) == set(INVENTED["holds"])
    assert len(result.measurement.tables[0].rows) == len(PROJECTED)
    assert "guess" in str(result)
