"""A run with a guided head: it says where alignments are read, goes on as it was, and is refused where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.errors import InputError
from regard.lens.alignment.bitext import as_bitext
from regard.lens.alignment.choice import ReadingChoice
from regard.lens.alignment.stored_choice import read_choice
from regard.lens.alignment.stream import Aligner, stream
from regard.tasks import Translator
from regard.text.scores.alignment_error import Gold, alignment_score
from regard.training.recipe.resolve import Request, resolve
from regard.training.report.events import Saved
from tests.training_cases import RANDOM, TINY, EventRecorder, Stop, go, numbers, same, settings, write_rows

GUIDED = {"training.guided_alignment": 1.0, "training.subword_dropout": 0.0}
LEARNING = {
    "training.steps": 120, "training.rate": 0.01, "training.warmup": 10, "training.batch_tokens": 512,
    "training.validate_every": 120, "training.checkpoint_every": 120, "training.select": "end",
    "training.average": "none", "model.dim": 32, "model.decoder_layers": 2, "model.dropout": 0.0,
    "model.attention_dropout": 0.0,
}  # fmt: skip


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """Numbers word by word, and their links."""
    rows = numbers(200)
    write_rows(tmp_path / "numbers.tsv", rows)
    lines = (" ".join(f"{n}-{n}" for n in range(len(english.split()))) for english, _ in rows)
    (tmp_path / "numbers.links").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path / "numbers.tsv"


def guided(corpus: Path, *more: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return TINY, RANDOM, GUIDED, {"data.links": [str(corpus.with_suffix(".links"))]}, *more


def kept(folder: Path) -> tuple[Translator, ReadingChoice]:
    task = regard.load(folder, "cpu")
    assert isinstance(task, Translator)
    choice = read_choice(folder, task.model)
    assert choice is not None
    return task, choice


def test_a_guided_head_is_where_alignments_are_read(linked: Path, tmp_path: Path) -> None:
    """It finds nine of ten links on pairs that it has not seen; left alone, the same head finds half of them."""
    go(linked, tmp_path / "model", *guided(linked, LEARNING))
    task, choice = kept(tmp_path / "model")
    assert str(choice.reading) == "decoder.0.cross:0:input:end"
    assert "guided" in choice.how
    texts = as_bitext("numbers", numbers(40, seed=9))
    gold = [Gold(*[frozenset((n, n) for n in range(len(one.split())))] * 2) for one in texts.sources]
    assert alignment_score(list(stream(texts, Aligner(task, choice.reading))), gold).aer < 0.1


def test_a_guided_run_that_broke_off_ends_as_if_it_had_not(linked: Path, tmp_path: Path) -> None:
    settled = guided(linked, {"training.guided_head": "decoder.0.cross:1"})
    go(linked, tmp_path / "whole", *settled)
    with pytest.raises(Stop):
        go(linked, tmp_path / "model", *settled, listener=EventRecorder(lambda event: isinstance(event, Saved)))
    go(linked, tmp_path / "model", *settled)
    same(tmp_path / "model", tmp_path / "whole")
    assert json.loads((tmp_path / "model" / "alignment.json").read_text())["heads"] == [1]


def test_without_guidance_there_is_nothing_to_read_by(corpus: Path, tmp_path: Path) -> None:
    go(corpus, tmp_path)
    assert not (tmp_path / "alignment.json").exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"training.compile": True}, "training.compile"),
        ({"training.layout": "sharded"}, "training.layout = 'sharded'"),
        ({"training.subword_dropout": 0.1}, "training.subword_dropout"),
        ({"model.family": "recurrent"}, "recurrent"),
        ({"task": "generate"}, "task = 'generate'"),
        ({"training.guided_alignment": 0.0}, "data.links is for guided alignment"),
    ],
)
def test_what_does_not_go_with_a_guided_head_is_refused_by_name(
    changed: dict[str, Any], words: str, corpus: Path
) -> None:
    with pytest.raises(InputError, match=words):
        resolve(Request(str(corpus), Path(), settings(*guided(corpus), changed)))
