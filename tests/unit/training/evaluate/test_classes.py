"""Labels are scored as they would be by hand."""

from __future__ import annotations

import json
from collections import Counter
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
from tests.broken_weights import with_nan
from tests.evaluation_cases import Folders, written


def test_classes(folders: Folders, tmp_path: Path) -> None:
    classifier = regard.load(folders["classes"], "cpu")
    assert isinstance(classifier, Classifier)
    texts = peers.sentences(5, 24)
    truth = ["good" if number % 3 else "bad" for number in range(24)]
    data = read_data(written(tmp_path / "set.tsv", *map("\t".join, zip(texts, truth, strict=True))))
    found = evaluate(classifier, data, batch=5)
    said = [one.label for one in classifier.classify(texts)]
    assert found.outputs == said
    right = sum(one == other for one, other in zip(said, truth, strict=True))
    assert found["accuracy"] == pytest.approx(100 * right / 24)
    assert found.baseline == "always saying 'good'"
    assert found.baselines == {"accuracy": pytest.approx(100 * 16 / 24), "macro_f1": pytest.approx(100 * 0.8 / 2)}
    assert [row.label for row in found.labels] == ["bad", "fair", "good"]
    assert found.confusion == Counter(zip(truth, said, strict=True))
    kept = json.loads(json.dumps(found.to_dict()))
    assert sum(cell["texts"] for cell in kept["confusion"]) == kept["texts"] == 24


def test_labels_that_the_model_does_not_know(folders: Folders, tmp_path: Path) -> None:
    data = read_data(written(tmp_path / "set.tsv", "w1\tgood", "w2\tgreat", "w3\tawful"))
    with pytest.raises(InputError, match=r"(?s)labels that the model does not know.*'awful', 'great'.*bad, fair, good"):
        evaluate(regard.load(folders["classes"], "cpu"), data)


def test_long_texts_are_cut_and_it_is_told(folders: Folders, tmp_path: Path) -> None:
    long, same = "w1 " * 40, "w1 " * 14
    classifier = regard.load(folders["classes"], "cpu")
    found = evaluate(classifier, read_data(written(tmp_path / "set.tsv", f"{long}\tgood", "w2\tbad")))
    assert found.outputs[0] == classifier.classify([same])[0].label
    assert found.notes == ["1 texts were cut to 16 tokens, all that the model has positions for"]


def test_a_classifier_with_nan_in_its_weights_gets_no_table(folders: Folders, tmp_path: Path) -> None:
    """The argmax of NaN is a class as well."""
    classifier = regard.load(folders["classes"], "cpu")
    message = with_nan(classifier.model)
    with pytest.raises(InputError, match=message):
        evaluate(classifier, read_data(written(tmp_path / "set.tsv", "w1 w2\tgood", "w3\tbad")))
