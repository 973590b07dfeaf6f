"""Texts that are aligned: read line by line, chosen on, kept, streamed, and translated with their links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.errors import FileError, InputError, UnknownNameError
from regard.lens.alignment.bitext import Bitext, as_bitext, read_bitext, tabbed
from regard.lens.alignment.choice import ReadingChoice, error_rates
from regard.lens.alignment.decision import Fixed, align, compare, decide, decide_both
from regard.lens.alignment.links import AttentionReading
from regard.lens.alignment.stored_choice import NAME, read_choice, write_choice
from regard.lens.alignment.stream import Aligner, stream
from regard.lens.alignment.symmetrise import symmetrised
from regard.lens.alignment.translation import numbers, search_aligned
from regard.models import TransformerConfig, build
from regard.tasks import Translator
from regard.text import grammar
from regard.text.bpe import train_tokenizer
from regard.text.scores import Gold

SENTENCES = grammar.sentences("train", 12)
TOKENIZER = train_tokenizer([text for one in SENTENCES for text in (one.source, one.target)], 320)


def translator(seed: int = 0, **changes: Any) -> Translator:
    torch.manual_seed(seed)
    config = TransformerConfig(
        source_vocabulary=TOKENIZER.size, target_vocabulary=TOKENIZER.size, dim=16, heads=2, feedforward=16,
        encoder_layers=1, decoder_layers=2, dropout=0.0, pad=0, start=1, end=2, **changes,
    )  # fmt: skip
    model: Any = build(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3 if weights.ndim > 1 else 1)
    return Translator(model, TOKENIZER)


def bitext(count: int = 6) -> Bitext:
    return as_bitext("some", [(one.source, one.target) for one in SENTENCES[:count]])


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_every_line_counts(tmp_path: Path) -> None:
    """A pair without words stays where it is: what is made of the pairs has as many lines as they."""
    file = write(tmp_path / "pairs.tsv", "a cat\tun chat", "", "it\tle")
    assert read_bitext([file]).sources == ["a cat", "", "it"]
    sides = [write(tmp_path / "a.en", "a cat", "", "it"), write(tmp_path / "a.fr", "un chat", "", "le")]
    assert read_bitext(sides, limit=2) == Bitext(" and ".join(sides), ["a cat", ""], ["un chat", ""])
    assert list(tabbed(["a\tb", "", "\t"])) == [("a", "b"), ("", ""), ("", "")]


def test_rows_that_are_no_pairs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pairs\.tsv:2: wrong number of columns"):
        read_bitext([write(tmp_path / "pairs.tsv", "a\tb", "alone")])
    with pytest.raises(InputError, match="line 2 is no pair"):
        list(tabbed(["a\tb", "alone"]))
    with pytest.raises(UnknownNameError, match="way to split words 'spaces'"):
        read_bitext(["x.tsv"], words="spaces")
    with pytest.raises(InputError, match="both sides already"):
        read_bitext(["grammar:test", "x.fr"])


def test_gold_links_must_fit(tmp_path: Path) -> None:
    pairs = write(tmp_path / "pairs.tsv", "a cat\tun chat", "it\tle")
    found = read_bitext([pairs], write(tmp_path / "gold.a", "0-0 1?1", "0-0"))
    assert found.gold[0] == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    assert found.swapped().sources == found.targets
    assert found.without_gold().gold == []
    with pytest.raises(InputError, match="a line of links for each pair"):
        read_bitext([pairs], write(tmp_path / "short.a", "0-0"))
    with pytest.raises(InputError, match=r"wide\.a, line 2: a link to a word that is not there"):
        read_bitext([pairs], write(tmp_path / "wide.a", "0-0", "1-1"))


def test_grammar_sets_bring_their_links() -> None:
    found = read_bitext(["grammar:test:5"], limit=3)
    sentences = grammar.sentences("test", 3)
    assert found.gold == [Gold(one.sure, one.possible) for one in sentences]
    assert found.words(found.sources[0]) == sentences[0].source_words
    assert read_bitext(["grammar:test:2"]).sources == [one.source for one in sentences[:2]]
    assert read_bitext(["grammar:test:2:7"]).sources == [one.source for one in grammar.sentences("test", 2, seed=7)]
    assert read_bitext(["grammar:test:2"], words="space").gold == []  # they count other words


def test_deciding_by_gold_finds_whose_links_they_are() -> None:
    task, texts = translator(), bitext()
    truth = AttentionReading("decoder.0.cross", (1,), "input")
    links = align(task, texts, [truth]).links(truth)
    known = Bitext("known", texts.sources, texts.targets, gold=[Gold(frozenset(one), frozenset(one)) for one in links])
    choice = decide(task, known)
    assert (choice.reading, choice.score) == (truth, 0)
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
    assert (lines[0].rate.aer, lines[1].reading, lines[2].reading.row) == (0, truth, "input")
    elsewhere = error_rates(align(task, texts), known.gold)
    assert compare(task, known, choice, elsewhere)[1].name == "best head"


def test_deciding_with_both_directions() -> None:
    ours, theirs, texts = translator(), translator(1), bitext()
    here, there = decide_both(ours, theirs, texts)
    assert here.how == there.how
    assert here.how.startswith("agreement of both directions on 6 pairs: F1")
    known = Bitext("known", texts.sources, texts.targets, gold=[Gold(frozenset({(0, 0)}), frozenset({(0, 0)}))] * 6)
    here, there = decide_both(ours, theirs, known)
    assert (here.reading, there.reading) == (decide(ours, known).reading, decide(theirs, known.swapped()).reading)


def test_streams_are_in_order_and_join_directions() -> None:
    ours, theirs, texts = translator(), translator(1), bitext(12)
    ours.batch = theirs.batch = 1
    there = Aligner(ours, AttentionReading("decoder.0.cross", (1,), "output"))
    back = Aligner(theirs, AttentionReading("decoder.1.cross", (0, 1), "input"))
    links, others = there.links(texts), back.links(texts.swapped())
    assert list(stream(texts, there)) == links
    joined = [symmetrised(one, [(i, j) for j, i in two]) for one, two in zip(links, others, strict=True)]
    assert list(stream(texts, there, back)) == joined


def test_a_choice_is_kept_with_its_weights(tmp_path: Path) -> None:
    task = translator()
    choice = ReadingChoice(AttentionReading("decoder.1.cross", (0, 1), "output"), "by hand")
    assert read_choice(tmp_path, task.model) is None
    assert write_choice(tmp_path, task.model, choice) == tmp_path / NAME
    kept = read_choice(tmp_path, task.model)
    assert kept is not None
    assert (kept.reading, kept.how) == (choice.reading, "kept in alignment.json: by hand")
    assert json.loads((tmp_path / NAME).read_text())["heads"] == [0, 1]
    with torch.no_grad():
        next(weight for weight in task.model.parameters() if weight.ndim == 1).add_(1)
    assert read_choice(tmp_path, task.model) is None  # trained on: it must be chosen again
    (tmp_path / NAME).write_text('{"site": "x"}')
    with pytest.raises(FileError, match="cannot read"):
        read_choice(tmp_path, task.model)


# Translations with their links


def test_translations_bring_links() -> None:
    task = translator()
    texts = [SENTENCES[0].source, "", SENTENCES[1].source]
    choice, found = search_aligned(task, texts, nbest=2, beams=2, max_length=9)
    assert choice is not None
    assert "agreement of the map with itself on" in choice.how
    assert [one.best for one in found] == task.search(texts, nbest=2, beams=2, max_length=9)
    for text, one in zip(texts, found, strict=True):
        for translation, links in zip(one.best, one.links, strict=True):
            expected = align(task, as_bitext("", [(text, translation.text)]), [choice.reading]).links(choice.reading)
            assert links == (expected[0] if text else [])
    assert search_aligned(task, [""]) == (None, [found[1]._replace(best=found[1].best[:1], links=[[]])])


def test_what_is_translated_in_pieces_is_aligned_in_pieces() -> None:
    """The links of the whole are those of its sentences, counted on."""
    task = translator()
    task.longest_source = 40
    first, second = SENTENCES[0].source, SENTENCES[1].source
    reading = ReadingChoice(AttentionReading("decoder.1.cross", (), "output"), "as asked")
    _, (one, two) = search_aligned(task, [first, second], reading, max_length=9)
    _, (both,) = search_aligned(task, [f"{first} {second}"], reading, max_length=9)
    assert both.best == task.search([f"{first} {second}"], max_length=9)[0]
    before = len(first.split()), len(one.best[0].text.split())
    assert both.links[0] == sorted([*one.links[0], *((i + before[0], j + before[1]) for i, j in two.links[0])])


def test_word_numbers_of_pieces() -> None:
    assert numbers("a b c d", ["a b", "c d"], str.split) == [[0, 1], [2, 3]]
    assert numbers("a bcd e", ["a bc", "d e"], str.split) == [[0, 1], [1, 2]]  # a word in two pieces
    assert numbers(">>fr<< a b", [">>fr<< a", ">>fr<< b"], str.split) == [[0, 1], [0, 2]]


def test_a_translation_too_long_to_be_read_again_has_no_links() -> None:
    task = translator(positions="learned", max_length=14)
    source = "A cat"
    choice = ReadingChoice(AttentionReading("decoder.1.cross", (), "output"), "as asked")
    _, (found,) = search_aligned(task, [source], choice, max_length=14, beams=1)
    assert found.links == [[]] or len(TOKENIZER.encode([found.best[0].text])[0]) <= 14
