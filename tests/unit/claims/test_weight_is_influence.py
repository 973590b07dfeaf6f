"""The rule of the claim; and what leaving words out does, where it is known which words matter."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
import torch

import regard
from regard.claims.lab.shipped_reading import read_translated, shipped
from regard.claims.tried import weight_is_influence
from regard.claims.tried.weight_is_influence import Readings, agreement, divergences, readings
from tests.claim_cases import Invented, check_rule

INVENTED: Invented = {
    "holds": {"weight_grammar": (0.9, 0.86, 0.94), "weight_en_fr": (0.88, 0.82, 0.93)},
    "holds in part": {"weight_grammar": (0.9, 0.86, 0.94), "weight_en_fr": (0.3, 0.2, 0.4)},
    "does not hold": {"weight_grammar": (0.2, 0.1, 0.3), "weight_en_fr": (0.3, 0.2, 0.4)},
}
DOG = "The dog eats an apple in the old garden."


def test_the_rule_gives_every_verdict() -> None:
    check_rule("weight-is-influence", INVENTED)


def test_a_noun_matters_most_where_it_is_translated() -> None:
    (one,) = read_translated("grammar", [DOG])
    model = shipped("grammar").model
    said = [shipped("grammar").tokenizer.decode([int(label)]).strip() for label in one.labels]
    row, dog = next(place for place, word in enumerate(said) if word.startswith("chien")), one.words.index("dog")
    for left_out in (False, True):
        changes = divergences(model, one, left_out=left_out)
        assert changes.shape == (len(said), len(one.words))
        assert float(changes.min()) > -1e-6  # rounding of float32 logits
        assert int(changes[row].argmax()) == dog
    assert float(readings(model, one).weight[row].argmax()) == dog


def test_hiding_nothing_changes_nothing() -> None:
    (one,) = read_translated("grammar", [DOG])
    model = shipped("grammar").model
    with torch.no_grad(), weight_is_influence.hidden_keys(model, torch.ones_like(one.source, dtype=torch.bool)):
        hidden = model(one.source, one.target)
    with torch.no_grad():
        torch.testing.assert_close(hidden, model(one.source, one.target))


def test_weights_that_are_influence_are_told_from_those_that_are_not() -> None:
    (one,) = read_translated("grammar", [DOG])
    influence = torch.rand(len(one.labels), len(one.words), generator=torch.Generator().manual_seed(0)).double()
    right = agreement([(one, Readings(influence, influence, influence, influence, influence))])
    wrong = agreement([(one, Readings(-influence, influence, influence, influence, influence))])
    assert right.weight == pytest.approx(1)
    assert right.top == 1
    assert wrong.weight == pytest.approx(-1)
    assert wrong.top == 0


def test_both_forms_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_is_influence, "COUNTS", (2, 2))
    folder = tmp_path / "multi30k"
    folder.mkdir()
    for side, line in (("en", "A man in a blue shirt is standing there."), ("fr", "Un homme est là.")):
        for name in ("train", "val", "test_2016_flickr"):
            (folder / f"{name}.{side}.xz").write_bytes(lzma.compress(f"{line}\n{line} {line}\n".encode()))
    quick = regard.claim("weight-is-influence").run(seeds=[0, 1])
    full = regard.claim("weight-is-influence").run(full=True, data=tmp_path, seeds=[0, 1])
    assert set(quick.measurement.numbers) == set(full.measurement.numbers)
    assert "does" in str(quick)
    assert full.verdict
