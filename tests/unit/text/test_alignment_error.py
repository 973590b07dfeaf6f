"""Alignment error rate as Och and Ney define it, and the lines that alignments are written in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import InputError
from regard.text.scores import Gold, alignment_score, parse_pharaoh, pharaoh
from regard.text.scores.alignment_error import Link, check_links

LINKS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8)
GOLDS = st.builds(lambda sure, more: Gold(sure, sure | more), LINKS, LINKS)


def gold(line: str) -> Gold:
    return parse_pharaoh([line])[0]


def test_worked_by_hand() -> None:
    """Two sentences: 5 links made, 4 sure ones to find; 3 are sure and 4 possible."""
    made = [{(0, 0), (1, 1), (2, 1)}, {(0, 0), (1, 0)}]
    truth = [gold("0-0 1-1 2?1"), gold("0-0 1-1")]
    found = alignment_score(made, truth)
    assert found.aer == pytest.approx(1 - (3 + 4) / (5 + 4))
    assert found.sure_only == pytest.approx(1 - (3 + 3) / (5 + 4))
    assert (found.precision, found.recall, found.sentences) == (pytest.approx(4 / 5), pytest.approx(3 / 4), 2)


def test_counts_are_summed_before_they_are_divided() -> None:
    """A mean of the two sentences' rates would be 1/2."""
    made = [{(0, 0)}, {(i, i + 1) for i in range(9)}]
    truth = [gold("0-0"), gold(" ".join(f"{i}-{i}" for i in range(9)))]
    assert alignment_score(made, truth).aer == pytest.approx(0.9)


@given(st.lists(GOLDS, min_size=1, max_size=4))
def test_the_gold_itself_is_perfect(truth: list[Gold]) -> None:
    assert alignment_score([one.sure for one in truth], truth).aer == 0
    assert alignment_score([one.sure for one in truth], truth).sure_only == 0


@given(st.lists(st.tuples(LINKS, GOLDS), min_size=1, max_size=4))
def test_bounds_and_exchanged_sides(pairs: list[tuple[frozenset[Link], Gold]]) -> None:
    made, truth = [links for links, _ in pairs], [one for _, one in pairs]
    found = alignment_score(made, truth)
    assert all(0 <= share <= 1 for share in found[:4])
    assert found.aer <= found.sure_only
    exchanged = alignment_score([{(j, i) for i, j in links} for links in made], [one.swapped() for one in truth])
    assert exchanged == found


@given(st.lists(st.tuples(LINKS, LINKS), min_size=1, max_size=4))
def test_sure_only_knows_no_sides(pairs: list[tuple[frozenset[Link], frozenset[Link]]]) -> None:
    """With sure links alone the rate is 1 - F1: it does not matter which alignment is the truth."""
    one = alignment_score([a for a, _ in pairs], [Gold(b, b) for _, b in pairs])
    other = alignment_score([b for _, b in pairs], [Gold(a, a) for a, _ in pairs])
    assert one.sure_only == pytest.approx(other.sure_only)
    assert one.aer == one.sure_only


@given(GOLDS)
def test_lines_return(truth: Gold) -> None:
    assert gold(truth.pharaoh()) == truth
    assert gold(pharaoh(truth.sure)).sure == truth.sure


def test_both_signs_of_possible_links() -> None:
    assert gold("0-0 3p4 1?2") == Gold(frozenset({(0, 0)}), frozenset({(0, 0), (3, 4), (1, 2)}))
    assert gold("") == Gold(frozenset(), frozenset())
    assert pharaoh([(2, 1), (0, 3), (2, 1)]) == "0-3 2-1"


@pytest.mark.parametrize("line", ["0-0 1_2", "0-", "a-b", "-1-2", "1-2-3"])
def test_what_is_no_link_is_named_with_its_line(line: str) -> None:
    with pytest.raises(InputError, match=r"gold\.a, line 2: no link"):
        parse_pharaoh(["0-0", line], "gold.a")


def test_links_beyond_the_words_are_refused() -> None:
    check_links(gold("0-0 1-2"), 2, 3, "line 1")
    with pytest.raises(InputError, match=r"line 7: a link to a word that is not there\n.*2-1, of 2 source"):
        check_links(gold("0-0 2-1"), 2, 3, "line 7")


def test_as_many_sentences_on_both_sides() -> None:
    with pytest.raises(InputError, match="as many outputs as sentences with gold links"):
        alignment_score([set()], [])
