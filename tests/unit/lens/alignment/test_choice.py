"""Which reading is chosen: by gold links, by its own map, or by a model of the other direction."""

from __future__ import annotations

import pytest
import torch

from regard.errors import InputError
from regard.lens.alignment.choice import PairVotes, choose_by_gold, choose_by_itself, choose_by_reverse, error_rates
from regard.lens.alignment.links import AttentionReading, Pair, Votes
from regard.lens.alignment.word_spans import WordTokens
from regard.text.scores import Gold

READINGS = [
    AttentionReading("one", (0,), "input"),
    AttentionReading("one", (1,), "output"),
    AttentionReading("all", (), "output"),
]


def pointing(*maps: list[list[int]], back: list[list[int]] | None = None) -> PairVotes:
    """Readings that point as given; `back` is what source words point at, by default as exactly as can be."""
    votes = []
    for sources in maps:
        rows = torch.tensor(sources)
        size = int(rows.max()) + 1
        targets = [[row.index(i) if i in row else -1 for i in range(size)] for row in sources]
        votes.append(Votes(rows, torch.tensor(targets if back is None else back)))
    words = [Pair(WordTokens((), ()), WordTokens((), ())) for _ in maps]
    return PairVotes(READINGS[: len(maps[0])], words, votes)


def test_choice_by_gold_never_takes_the_mean_of_all() -> None:
    gold = [Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)}))]
    aligned = pointing([[1, 1], [0, 0], [0, 1]])
    rates = error_rates(aligned, gold)
    assert [rates[one].aer for one in READINGS] == [0.5, 0.5, 0.0]
    choice = choose_by_gold(aligned, gold)
    assert (choice.reading, choice.score) == (READINGS[0], 0.5)
    assert choice.how == "lowest error rate on 1 sentences whose links are known: 50.0 %"


def test_choice_by_itself() -> None:
    """The second sends every target word to a source word of its own."""
    choice = choose_by_itself(pointing([[0, 0, 1], [2, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 2, 0], [1, 2, 0]]))
    assert (choice.reading, choice.score) == (READINGS[1], 1.0)
    assert "agreement of the map with itself on 2 pairs: 100.0 %" in choice.how
    with pytest.raises(InputError, match="nothing to choose"):
        choose_by_itself(PairVotes([], [], []))


def test_choice_by_the_other_direction() -> None:
    """Only the second of ours and the first of theirs say the same; a mean of all would agree as well."""
    ours = pointing([[0, 0, 0], [2, 0, 1], [2, 0, 1]])
    theirs = pointing([[1, 2, 0], [0, 0, 0], [1, 2, 0]])  # target words of source words
    here, there = choose_by_reverse(ours, theirs)
    assert (here.reading, there.reading, here.score) == (READINGS[1], READINGS[0], 1.0)
    assert here.how == there.how == "agreement of both directions on 1 pairs: F1 100.0 %"


def test_f1_of_both_directions_by_hand() -> None:
    """Ours links 0-0 1-1 1-2, theirs 0-0 1-1 and leaves a word out: 2 shared of 3 and 2."""
    ours, theirs = pointing([[0, 1, 1]]), pointing([[0, 1, -1]])
    assert choose_by_reverse(ours, theirs)[0].score == pytest.approx(2 * 2 / (3 + 2))
