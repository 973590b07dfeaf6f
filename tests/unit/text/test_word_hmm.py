"""The two hidden Markov models against every alignment counted one by one, and what they learn of a known language."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text import grammar
from regard.text.scores.alignment_error import Gold, alignment_score
from regard.text.word_hmm import (
    FLAT,
    LEAST,
    LONGEST,
    NOBODY,
    Direction,
    agreed_links,
    with_positions,
    without_positions,
)

WORDS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=4)


def direction(seed: int) -> Direction:
    rng = np.random.default_rng(seed)
    return Direction(np.zeros(1), np.zeros(1), np.zeros(1), rng.random(2 * LONGEST + 1) + 0.01)


def transition(way: Direction, length: int, before: int | None, after: int) -> float:
    """From a position, or None before the first word, to another: by the definition."""
    width = [way.jumps[LONGEST + i - (-1 if before is None else before)] for i in range(length)]
    return float(FLAT / length + (1 - FLAT) * width[after] / sum(width))


def counted(way: Direction, emission: np.ndarray, nobody: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The posteriors of one pair, from the probability of each sequence of (position, linked or not)."""
    words, length = emission.shape
    links, unlinked, total = np.zeros_like(emission), np.zeros(words), 0.0
    for path in product(product(range(length), (True, False)), repeat=words):
        probability, before = 1.0, None
        for j, (position, linked) in enumerate(path):
            if linked:
                probability *= (
                    transition(way, length, before, position) * (1 - NOBODY) * (emission[j, position] + LEAST)
                )
            else:  # stays where it was; before the first word that is anywhere the first could be
                stays = transition(way, length, None, position) if before is None else float(position == before)
                probability *= stays * NOBODY * (nobody[j] + LEAST)
            before = position
        total += probability
        for j, (position, linked) in enumerate(path):
            if linked:
                links[j, position] += probability
            else:
                unlinked[j] += probability
    return links / total, unlinked / total


@pytest.mark.parametrize(("words", "length"), [(1, 1), (1, 3), (3, 1), (3, 3), (4, 2)])
def test_posteriors_are_those_of_all_alignments_counted(words: int, length: int) -> None:
    rng = np.random.default_rng(words * 10 + length)
    emission, nobody = rng.random((2, words, length)), rng.random((2, words))
    way = direction(length)
    found = with_positions(way, emission, nobody)
    for n in range(2):
        links, unlinked = counted(way, emission[n], nobody[n])
        np.testing.assert_allclose(found.links[n], links, rtol=1e-9)
        np.testing.assert_allclose(found.nobody[n], unlinked, rtol=1e-9)


def test_as_many_jumps_as_words_after_the_first_unless_they_stand_for_nobody() -> None:
    rng = np.random.default_rng(0)
    found = with_positions(direction(1), rng.random((3, 5, 4)), np.full((3, 5), 0.0))
    np.testing.assert_allclose(found.jumps.sum(), found.links[:, 1:].sum(), rtol=1e-9)


def test_without_positions_shares_go_by_the_words_alone() -> None:
    found = without_positions(direction(1), np.array([[[0.6, 0.2]]]), np.array([[0.4]]))
    np.testing.assert_allclose(found.links[0, 0], np.array([0.24, 0.08]) / (0.24 + 0.08 + NOBODY * 0.4))
    np.testing.assert_allclose(found.links.sum() + found.nobody.sum(), 1)


@given(st.lists(st.tuples(WORDS, WORDS), max_size=6))
@settings(max_examples=30, deadline=None)
def test_links_are_within_their_pair_whatever_the_pairs(pairs: list[tuple[list[str], list[str]]]) -> None:
    links = agreed_links(pairs)
    assert len(links) == len(pairs)
    for (source, target), each in zip(pairs, links, strict=True):
        assert each == sorted(set(each))
        assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in each)


def test_the_order_of_pairs_changes_nothing() -> None:
    pairs = [(one.source.split(), one.target.split()) for one in grammar.read_name("grammar:train:300:5").sentences()]
    backwards = agreed_links(pairs[::-1])[::-1]
    assert (
        sum(a != b for a, b in zip(agreed_links(pairs), backwards, strict=True)) <= len(pairs) // 50
    )  # near the bound


def test_empty_and_very_long_sides_have_no_links() -> None:
    pairs = [([], ["a"]), (["a"], []), (["a"] * (LONGEST + 1), ["b"]), (["a"], ["b"]), (["a", "c"], ["b", "d"])]
    links = agreed_links(pairs)
    assert links[:3] == [[], [], []]
    assert links[3] == [(0, 0)]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_links_of_the_built_in_language_are_found(seed: int) -> None:
    """Its true links are known; these are learned from its sentences alone."""
    sentences = grammar.read_name(f"grammar:train:2000:{seed}").sentences()
    pairs = [
        ([word.lower() for word in grammar.words(one.source)], [word.lower() for word in grammar.words(one.target)])
        for one in sentences
    ]
    gold = [Gold(one.sure, one.possible) for one in sentences]
    score = alignment_score(agreed_links(pairs), gold)
    assert score.aer < 0.1, score


def test_progress_ends_at_its_total() -> None:
    calls: list[tuple[int, int]] = []
    agreed_links([(["a"], ["b"])] * 3, lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1][0] == calls[-1][1]
