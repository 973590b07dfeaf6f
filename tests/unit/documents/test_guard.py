"""Translations that cannot lose, double or disorder a tag or a placeholder."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.documents import SegmentTranslation, translate_guarded
from regard.documents.guard import PROTECTED, keeps_codes, nests
from tests.unit.documents.samples import HOSTILE, answer

TEXT = 'Click <a href="/x">here</a>, %(name)s: {count} of %d &lt; 5, $1 or ${total}'


def test_a_good_translation_is_taken_as_it_is() -> None:
    good = "Ici : %d <b>x</b>"
    (one,) = translate_guarded(["Here: <b>x</b> %d"], lambda texts: [SegmentTranslation(good, 0.25, ("x",), True)])
    assert one == (good, 0.25, ("x",), True, False)


@pytest.mark.parametrize("how", HOSTILE)
def test_codes_stay_whatever_the_translator_does(how: str) -> None:
    (one,) = translate_guarded([TEXT], answer(HOSTILE[how]))
    if how in ("drops all", "adds codes"):  # not one piece can be had
        assert one.text is None
    else:
        assert one.text is not None
        assert Counter(PROTECTED.findall(one.text)) == Counter(PROTECTED.findall(TEXT))
        assert nests(PROTECTED.findall(one.text))


def test_a_translator_that_says_nothing_fills_nothing_in() -> None:
    assert translate_guarded([TEXT, "plain"], answer(lambda text: "")) == [(None, 1.0, (), False, True)] * 2


def test_pieces_between_tags_are_translated_where_the_whole_was_broken() -> None:
    asked: list[list[str]] = []

    def translate(texts: list[str]) -> list[SegmentTranslation]:
        asked.append(texts)
        return [SegmentTranslation(PROTECTED.sub("", text).upper(), len(text) / 100) for text in texts]

    first, second = translate_guarded(["the <b>cat</b> sleeps", "fine"], translate)
    assert first.text == "THE <b>CAT</b> SLEEPS"
    assert first.fallback
    assert not second.fallback
    assert asked == [["the <b>cat</b> sleeps", "fine"], ["the", "cat", "sleeps"]]
    assert first.doubt == 0.06  # the most doubtful piece


def test_lines_and_their_indents_stay() -> None:
    (one,) = translate_guarded(["\nusage:\n  cat  \n\n  dog\n"], answer(str.upper))
    assert one.text == "\nUSAGE:\n  CAT  \n\n  DOG\n"


def test_every_text_is_asked_for_once() -> None:
    asked: list[str] = []

    def translate(texts: list[str]) -> list[SegmentTranslation]:
        asked.extend(texts)
        return [SegmentTranslation(text.upper()) for text in texts]

    assert [one.text for one in translate_guarded(["cat", " cat", "42", "cat"], translate)] == [
        "CAT",
        " CAT",
        None,
        "CAT",
    ]
    assert asked == ["cat"]


def test_a_message_that_is_a_program_is_left_alone() -> None:
    source = "{n, plural, one {# cat} other {# cats}}"
    assert translate_guarded([source], answer(str.upper))[0].text is None


@pytest.mark.parametrize(
    ("source", "target", "fine"),
    [
        ("a <b>x</b>", "<b>y</b> z", True),
        ("a <b>x</b>", "</b>y<b> z", False),
        ("a <b>x</b>", "y z", False),
        ("<i>a</i> <b>x</b>", "<i>y<b></i>z</b>", False),
        ("a<br>b <img src=x>", "<img src=x> b<br>a", True),
        ("x <bpt1/>a<ept2/>", "<ept2/>a<bpt1/>", False),
        ("<ph1/> of <ph2/>", "<ph2/> de <ph1/>", True),
        ("unclosed <p>a", "b<p>", True),
        ("100% de 50%", "50% of 100 %", True),
        ("costs $5.50 or $1,000", "coûte 5,50 $ ou 1 000 $", True),
        ("file $1", "fichier", False),
        ("%1$s and %s", "%s et %1$s", True),
        ("&lt;b&gt;", "b", False),
        ("text", "", False),
    ],
)
def test_what_a_translation_must_keep(source: str, target: str, fine: bool) -> None:
    assert keeps_codes(source, target) is fine


def test_tags_nest_or_do_not() -> None:
    assert nests(["<a>", "<b/>", "<br>", "</a>"])
    assert not nests(["<a>"])
    assert not nests(["</a>", "<a>"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["<b>", "</b>", "<x1/>", "%s", "{a}", " ", "cat", "Hund", "\n", "&amp;", "$1", "<"]),
        max_size=12,
    ),
    st.lists(st.sampled_from(["<b>", "</b>", "%s", "{", "}", "<", "%", "s", "&", "lt;", " ", "le", "$"]), max_size=8),
)
def test_codes_stay_whatever_is_said_to_whatever_is_asked(source: list[str], said: list[str]) -> None:
    text = "".join(source)
    (one,) = translate_guarded([text], lambda texts: [SegmentTranslation("".join(said)) for _ in texts])
    if one.text is not None:
        for before, after in zip(text.split("\n"), one.text.split("\n"), strict=True):
            assert Counter(PROTECTED.findall(after)) == Counter(PROTECTED.findall(before))
