"""Where a translator is read: decided on its texts, stored beside it, and streamed from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from regard.errors import FileError
from regard.lens.alignment.bitext import Bitext
from regard.lens.alignment.choice import ReadingChoice, error_rates
from regard.lens.alignment.decision import Fixed, align, compare, decide, decide_both
from regard.lens.alignment.links import AttentionReading
from regard.lens.alignment.stored_choice import NAME, read_choice, write_choice
from regard.lens.alignment.stream import Aligner, stream
from regard.lens.alignment.symmetrise import symmetrised
from regard.text.scores import Gold
from tests.unit.lens.alignment.small_translators import bitext, grammar_translator


def test_deciding_by_gold_finds_whose_links_they_are() -> None:
    task, texts = grammar_translator(), bitext()
    reading = AttentionReading("decoder.0.cross", (1,), "input")
    links = align(task, texts, [reading]).links(reading)
    known = Bitext("known", texts.sources, texts.targets, gold=[Gold(frozenset(one), frozenset(one)) for one in links])
    choice = decide(task, known)
    assert (choice.reading, choice.score) == (reading, 0)
    assert choice.rate is not None
    assert choice.rate.sentences == 6
    assert decide(task, known, Fixed(row="output")).reading.row == "output"
    assert decide(task, known, Fixed("decoder.1.cross", (), "input")) == ReadingChoice(
        AttentionReading("decoder.1.cross", (), "input"), "as asked"
    )
    lines = compare(task, known, choice)
    assert [one.name for one in lines] == [
        "chosen", "best head, picked here", "best Shift-Att, picked here", "mean of all heads, picked here",
    ]  # fmt: skip
    assert (lines[0].rate.aer, lines[1].reading, lines[2].reading.row) == (0, reading, "input")
    elsewhere = error_rates(align(task, texts), known.gold)
    assert compare(task, known, choice, elsewhere)[1].name == "best head"


def test_deciding_with_both_directions() -> None:
    ours, theirs, texts = grammar_translator(), grammar_translator(1), bitext()
    here, there = decide_both(ours, theirs, texts)
    assert here.how == there.how
    assert here.how.startswith("agreement of both directions on 6 pairs: F1")
    known = Bitext("known", texts.sources, texts.targets, gold=[Gold(frozenset({(0, 0)}), frozenset({(0, 0)}))] * 6)
    here, there = decide_both(ours, theirs, known)
    assert (here.reading, there.reading) == (decide(ours, known).reading, decide(theirs, known.swapped()).reading)


def test_streams_are_in_order_and_join_directions() -> None:
    ours, theirs, texts = grammar_translator(), grammar_translator(1), bitext(12)
    ours.batch = theirs.batch = 1
    there = Aligner(ours, AttentionReading("decoder.0.cross", (1,), "output"))
    back = Aligner(theirs, AttentionReading("decoder.1.cross", (0, 1), "input"))
    links, others = there.links(texts), back.links(texts.swapped())
    assert list(stream(texts, there)) == links
    joined = [symmetrised(one, [(i, j) for j, i in two]) for one, two in zip(links, others, strict=True)]
    assert list(stream(texts, there, back)) == joined


@pytest.mark.parametrize("end", [False, True])
def test_a_choice_is_kept_with_its_weights(end: bool, tmp_path: Path) -> None:
    task = grammar_translator()
    choice = ReadingChoice(AttentionReading("decoder.1.cross", (0, 1), "output", end), "by hand")
    assert read_choice(tmp_path, task.model) is None
    assert write_choice(tmp_path, task.model, choice) == tmp_path / NAME
    stored = read_choice(tmp_path, task.model)
    assert stored is not None
    assert (stored.reading, stored.how) == (choice.reading, "kept in alignment.json: by hand")
    assert json.loads((tmp_path / NAME).read_text())["heads"] == [0, 1]
    with torch.no_grad():
        next(weight for weight in task.model.parameters() if weight.ndim == 1).add_(1)
    assert read_choice(tmp_path, task.model) is None  # trained on: it must be chosen again
    (tmp_path / NAME).write_text('{"site": "x"}')
    with pytest.raises(FileError, match="cannot read"):
        read_choice(tmp_path, task.model)
