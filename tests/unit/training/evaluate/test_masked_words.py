"""Masked words cost what they cost by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import regard
from benchmarks import peers
from regard.errors import InputError
from regard.tasks import Classifier
from regard.training.evaluate import (
    evaluate,
    read_data,
)
from regard.training.evaluate.masked_words import choose
from tests.bounds import small_apart
from tests.broken_weights import with_nan
from tests.evaluation_cases import Folders, written


def test_masked_words(folders: Folders, tmp_path: Path) -> None:
    classifier = regard.load(folders["masks"], "cpu")
    assert isinstance(classifier, Classifier)
    texts = peers.sentences(6, 15)
    found = evaluate(classifier, read_data(written(tmp_path / "text", *texts)), batch=4)
    rows = classifier.tokenizer.encode(texts)
    places = choose(rows, {peers.FIRST, peers.LAST})
    nats, right = 0.0, 0
    for row, chosen in zip(rows, places, strict=True):
        assert len(chosen) == max(1, round(0.15 * (len(row) - 2)))
        assert not {0, len(row) - 1} & set(chosen)
        hidden = [peers.MASK if place in chosen else number for place, number in enumerate(row)]
        chances = classifier.read([hidden])[0].log_softmax(-1)
        nats -= sum(float(chances[place, row[place]]) for place in chosen)
        right += sum(int(chances[place].argmax()) == row[place] for place in chosen)
    asked = sum(map(len, places))
    assert found["nats_per_token"] == pytest.approx(nats / asked, abs=small_apart(5.0))
    assert found["perplexity"] == pytest.approx(math.exp(nats / asked), rel=small_apart(5.0))
    assert found["accuracy"] == pytest.approx(100 * right / asked)
    assert found.scores[0].signature == f"masked:0.15|seed:0|tokens:{asked}"
    assert found.baselines == {"accuracy": 2.5, "nats_per_token": math.log(40), "perplexity": 40}
    again = evaluate(classifier, read_data([str(tmp_path / "text")]))
    assert again["nats_per_token"] == pytest.approx(found["nats_per_token"], abs=small_apart(5.0))


def test_a_model_with_nan_in_its_weights_gets_no_table(folders: Folders, tmp_path: Path) -> None:
    classifier = regard.load(folders["masks"], "cpu")
    message = with_nan(classifier.model)
    with pytest.raises(InputError, match=message):
        evaluate(classifier, read_data(written(tmp_path / "text", "w1 w2", "w3")))
