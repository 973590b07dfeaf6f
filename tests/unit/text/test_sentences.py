"""Sentences: where English and French ones end, and nothing between them is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Hello. How are you?", ["Hello.", "How are you?"]),
        ("Mr. Smith met Dr. Jones. They spoke.", ["Mr. Smith met Dr. Jones.", "They spoke."]),
        ("M. Dupont et Mme. Durand arrivent. Bonjour !", ["M. Dupont et Mme. Durand arrivent.", "Bonjour !"]),
        ("It costs 3.50 dollars. Really!", ["It costs 3.50 dollars.", "Really!"]),
        ("J. K. Rowling wrote it. I read it.", ["J. K. Rowling wrote it.", "I read it."]),
        ("He lives in the U.S. She does not.", ["He lives in the U.S.", "She does not."]),
        ("The U.S. Congress met.", ["The U.S. Congress met."]),
        ("Fruit, e.g. apples, is good. Eat it.", ["Fruit, e.g. apples, is good.", "Eat it."]),
        ("Bring paper, pens, etc. Then sit.", ["Bring paper, pens, etc.", "Then sit."]),
        ("Wait... what? Yes... Go.", ["Wait... what?", "Yes...", "Go."]),
        ('"Stop!" he said. She did not.', ['"Stop!" he said.', "She did not."]),
        ("« Quoi ? » dit-il. « Rien. » Elle rit.", ["« Quoi ? » dit-il.", "« Rien. »", "Elle rit."]),
        ("hello. how are you? i am fine", ["hello.", "how are you?", "i am fine"]),
        ("1. First point\n2. Second point", ["1. First point", "2. Second point"]),
        ("See no. 5 on p. 12. No. He left.", ["See no. 5 on p. 12.", "No.", "He left."]),
        ("Go to https://x.org/a.b now. Bye.", ["Go to https://x.org/a.b now.", "Bye."]),
        ("At 5 p.m. we left. At 6 p.m. It rained.", ["At 5 p.m. we left.", "At 6 p.m.", "It rained."]),
        ("one cell\tanother cell", ["one cell", "another cell"]),
        ("你好。再见。", ["你好。", "再见。"]),
        ("Oui !!! Non ?! Bon", ["Oui !!!", "Non ?!", "Bon"]),
        ("", []),
        ("\n\n", [""]),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert [one.text for one in split_sentences(text)] == sentences


def test_no_sentence_ends_inside_of_what_is_protected() -> None:
    text = "Run `a. B` now. Then <b title='x. Y'>go</b>."
    protected = [(4, 10), (21, 37)]
    assert [text[a:b] for a, b in protected] == ["`a. B`", "<b title='x. Y'>"]
    assert [one.text for one in split_sentences(text, protected)] == ["Run `a. B` now.", "Then <b title='x. Y'>go</b>."]


@given(st.text(st.sampled_from("aB1.!?…»\"' \n\t\r\x85\u2028(é。"), max_size=40), st.data())
def test_put_together_they_are_the_text(text: str, data: st.DataObject) -> None:
    edges = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    protected = list(zip(edges[::2], edges[1::2], strict=False))
    sentences = split_sentences(text, protected)
    assert "".join(one.text + one.space for one in sentences) == text
    assert all(one.space.isspace() or not one.space for one in sentences)
    assert not any(one.space == "" for one in sentences[:-1] if "。" not in one.text)
    ends, at = [], 0
    for one in sentences[:-1]:
        at += len(one.text)
        ends.append((at, at + len(one.space)))
        at += len(one.space)
    assert not any(start < stop and begin < stop and start < end for begin, end in ends for start, stop in protected)
