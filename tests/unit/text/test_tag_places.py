"""Tags around words: off before a sentence is translated, and around the words they belong to afterwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.protect import find_spans, nesting_faults
from regard.text.tag_places import TaggedText


def tagged(text: str) -> TaggedText | None:
    return TaggedText.of(text, find_spans(text))


def test_tags_go_around_the_translation_of_what_they_stood_around() -> None:
    one = tagged("The <i>big <b>cat</b></i> sees the <a href='x'>dog</a>.")
    assert one is not None
    assert one.text == "The big cat sees the dog."
    assert one.contents() == ["big cat", "cat", "dog"]
    done = one.tag("Le gros chat voit le chien.", ["gros chat", "chat", "chien"])
    assert done == "Le <i>gros <b>chat</b></i> voit le <a href='x'>chien</a>."


def test_words_that_are_not_found_are_taken_by_their_share() -> None:
    one = tagged("Click <b>here</b> now.")
    assert one is not None
    assert one.tag("Cliquez ici maintenant.", ["par ici"]) == "Cliquez <b>ici</b> maintenant."


@pytest.mark.parametrize(
    "text", ["Click here.", "a </b> b <b>", "a <b>b", "a <br/> b", "a <b> </b> b", "see `<b>` here"]
)
def test_what_does_not_pair_up_is_left_to_others(text: str) -> None:
    assert tagged(text) is None


def test_other_spans_keep_their_places() -> None:
    one = tagged("See <b>the page https://x.org now</b> and %s.")
    assert one is not None
    assert [one.text[span.start : span.stop] for span in one.spans] == [span.fill for span in one.spans]


def test_pairs_that_would_cross_are_refused() -> None:
    one = tagged("<b>a c</b> <i>c d</i>")
    assert one is not None
    assert one.tag("x y z", ["x y", "y z"]) is None


WORDS = st.lists(st.sampled_from(["a", "the cat", "<b>", "</b>", "<i>", "</i>", " ", "."]), max_size=9)


@given(WORDS, st.text(alphabet="ab .", max_size=12))
def test_no_tag_is_lost_and_none_cross(parts: list[str], translation: str) -> None:
    text = "".join(parts)
    one = tagged(text)
    if one is None:
        return
    assert one.tag(one.text, one.contents()) is not None or len(one.pairs) > 1
    done = one.tag(translation, ["" for _ in one.pairs])
    if done is not None:
        assert nesting_faults(done) == 0
        assert all(done.count(tag) == text.count(tag) for tag in ("<b>", "</b>", "<i>", "</i>"))
