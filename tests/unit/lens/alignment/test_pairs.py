"""Many pairs at a time: batches, words and tokenizers of every kind change no link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.errors import InputError
from regard.lens.alignment.links import AttentionReading
from regard.lens.alignment.pairs import align_pairs
from regard.lens.hooks.attach import record
from regard.models import RecurrentConfig, build
from regard.tasks import Translator
from regard.text.bpe import Paired, train_tokenizer
from tests.broken_weights import with_nan
from tests.unit.lens.alignment.small_translators import CROSS, SOURCES, TARGETS, TOKENIZER, recorded, transformer
from tests.unit.lens.alignment.test_word_spans import marian


@pytest.mark.parametrize("separate", [False, True])
def test_many_pairs_are_each_as_alone(separate: bool) -> None:
    """Batches, padding and order change nothing, and a recording of the same pair says the same."""
    tokenizer = Paired(TOKENIZER, train_tokenizer(TARGETS, 285)) if separate else TOKENIZER
    translator = transformer(tokenizer)
    translator.batch = 3
    steps: list[tuple[int, int]] = []
    whole = align_pairs(translator, SOURCES, TARGETS, on_progress=lambda done, total: steps.append((done, total)))
    assert steps == [(3, 4), (4, 4)]
    assert [len(pair.source.words) for pair in whole.pairs] == [6, 3, 0, 2]
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = align_pairs(translator, [source], [target], whole.readings)
        for one in whole.readings:
            assert alone.links(one) == [whole.links(one)[number]]
        if source:
            recording = recorded(translator, source, target)
            found = recording.align("decoder.1.cross", (0, 2), "input")
            assert found.links == whole.links(AttentionReading("decoder.1.cross", (0, 2), "input"))[number]
            assert (found.source, found.target) == (whole.pairs[number].source.words, whole.pairs[number].target.words)
    assert whole.links(whole.readings[0])[2] == []  # nothing to look at


def test_only_the_sites_that_are_read_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.lens.alignment import pairs as module

    watched: list[Any] = []
    monkeypatch.setattr(
        module, "record", lambda model, options: (watched.append(list(options.sites)), record(model, options))[1]
    )
    align_pairs(transformer(), SOURCES[:1], TARGETS[:1], [AttentionReading(CROSS[1], (0,), "output")])
    align_pairs(transformer(), SOURCES[:1], TARGETS[:1])
    assert watched == [[CROSS[1]], CROSS]


def test_words_already_split_and_other_words() -> None:
    translator = transformer()
    reading = AttentionReading(CROSS[0], (1,), "output")
    given = align_pairs(translator, [["It", "was", "tired", "."]], [["Il", "était", "fatigué", "."]], [reading])
    assert given.pairs[0].source.words == ("It", "was", "tired", ".")
    split = align_pairs(
        translator, ["It was tired."], ["Il était"], [reading], words=lambda text: [*text.replace(" ", "")]
    )
    assert len(split.pairs[0].source.words) == 11


def test_recurrent_models_align_too() -> None:
    torch.manual_seed(0)
    config = RecurrentConfig(
        source_vocabulary=TOKENIZER.size, target_vocabulary=TOKENIZER.size, dim=8, hidden=8, dropout=0.0,
        attention=True, pad=0, start=1, end=2,
    )  # fmt: skip
    translator = Translator(build(config).eval(), TOKENIZER)
    found = align_pairs(translator, SOURCES, TARGETS)
    assert [str(one) for one in found.readings] == [
        "decoder.0.cross:0:input", "decoder.0.cross:0:output", "decoder.0.cross:mean:input",
        "decoder.0.cross:mean:output", "all:mean:input", "all:mean:output",
    ]  # fmt: skip
    assert [len(one) for one in found.links(found.readings[1])] == [6, 4, 0, 2]


def test_too_long_for_learned_positions() -> None:
    translator = transformer(positions="learned", max_length=12)
    with pytest.raises(InputError, match="pair 2 is longer than this model can read"):
        align_pairs(translator, ["A cat", SOURCES[0]], ["Un chat", TARGETS[0]])
    with pytest.raises(InputError, match="as many sources as targets"):
        align_pairs(translator, ["A cat"], [])


def test_sentencepiece_translators_align(tmp_path: Path) -> None:
    """Each side is cut by its own pieces; words the vocabulary does not have stay words."""
    tokenizer = marian(tmp_path)
    found = align_pairs(transformer(tokenizer), ["the 漢字 animal", SOURCES[1]], ["la rue", "Il 漢字"])
    assert [pair.source.words for pair in found.pairs] == [("the", "漢字", "animal"), tuple(SOURCES[1].split())]
    assert [len(one) for one in found.links(found.readings[0])] == [2, 2]


def test_a_model_with_nan_in_its_weights_aligns_nothing() -> None:
    """No search would notice it: the target is only read."""
    translator = transformer()
    message = with_nan(translator.model)
    with pytest.raises(InputError, match=message):
        align_pairs(translator, SOURCES, TARGETS)
