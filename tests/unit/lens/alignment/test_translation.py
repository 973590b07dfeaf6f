"""Translations that bring their links, whole and in pieces."""

from __future__ import annotations

from regard.lens.alignment.bitext import as_bitext
from regard.lens.alignment.choice import ReadingChoice
from regard.lens.alignment.decision import align
from regard.lens.alignment.links import AttentionReading
from regard.lens.alignment.translation import numbers, search_aligned
from tests.unit.lens.alignment.small_translators import GRAMMAR_TOKENIZER, SENTENCES, grammar_translator


def test_translations_bring_links() -> None:
    task = grammar_translator()
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
    task = grammar_translator()
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
    task = grammar_translator(positions="learned", max_length=14)
    source = "A cat"
    choice = ReadingChoice(AttentionReading("decoder.1.cross", (), "output"), "as asked")
    _, (found,) = search_aligned(task, [source], choice, max_length=14, beams=1)
    assert found.links == [[]] or len(GRAMMAR_TOKENIZER.encode([found.best[0].text])[0]) <= 14
