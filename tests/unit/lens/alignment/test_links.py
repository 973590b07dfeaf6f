"""Weights between words as their definition says, the votes of every reading, and readings as text."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from regard.errors import InputError
from regard.lens.alignment.links import (
    ROWS,
    AttentionReading,
    all_readings,
    crossing,
    links,
    pair_of,
    votes,
    without_unlinked,
    word_weights,
)
from tests.bounds import sums_apart
from tests.unit.lens.alignment.small_translators import CROSS, SOURCES, TARGETS, recorded, transformer


def test_word_weights_are_the_sums_and_means_that_they_should_be() -> None:
    """Written out in loops: columns of a source word are added, rows of a target word averaged, specials left out."""
    recording = recorded(transformer(), SOURCES[0], TARGETS[0])
    call, pair = recording.last, pair_of(recording.last)
    assert (pair.source.words, pair.target.words) == (tuple(SOURCES[0].split()), tuple(TARGETS[0].split()))
    assert pair.target.owners[0] == pair.source.owners[-1] == -1
    for shift, row in enumerate(ROWS):
        found = word_weights(call, CROSS[1], pair, row)
        for head in range(4):
            weights = call.weights(CROSS[1], head)
            for j in range(len(pair.target.words)):
                rows = [place - shift for place, owner in enumerate(pair.target.owners) if owner == j]
                for i in range(len(pair.source.words)):
                    columns = [place for place, owner in enumerate(pair.source.owners) if owner == i]
                    expected = sum(float(weights[r, c]) for r in rows for c in columns) / len(rows)
                    assert float(found[head, j, i]) == pytest.approx(expected, abs=sums_apart(len(rows) * len(columns)))


def test_votes_of_all_readings_at_once() -> None:
    recording = recorded(transformer(), SOURCES[0], TARGETS[0])
    call, pair = recording.last, pair_of(recording.last)
    readings = all_readings(crossing(call))
    assert len(readings) == len(set(readings)) == 2 * (2 * (4 + 6 + 1) + 1)
    found = votes(call, pair, readings)
    weights = {(site, row): word_weights(call, site, pair, row) for site in CROSS for row in ROWS}
    for place, one in enumerate(readings):
        heads = list(one.heads) or [0, 1, 2, 3]
        sites = CROSS if one.site == "all" else [one.site]
        mean = torch.stack([weights[site, one.row][heads].mean(0) for site in sites]).mean(0)
        assert found.sources[place].tolist() == mean.argmax(1).tolist()
        assert found.targets[place].tolist() == mean.argmax(0).tolist()


def test_a_word_that_looks_more_at_the_end_than_at_any_word_has_no_link_where_it_is_read_so() -> None:
    recording = recorded(transformer(), SOURCES[0], TARGETS[0])
    call, pair = recording.last, pair_of(recording.last)
    plain = AttentionReading(CROSS[1], (1,), "input")
    taught = replace(plain, end=True)
    weights = word_weights(call, CROSS[1], pair, "input")[1]
    elsewhere = 1 - weights.sum(1)
    found = votes(call, pair, [plain, taught])
    assert found.sources[0].tolist() == weights.argmax(1).tolist()
    expected = torch.where(elsewhere > weights.amax(1), -1, weights.argmax(1))
    assert found.sources[1].tolist() == expected.tolist()


@pytest.mark.parametrize(
    "text",
    ["decoder.1.cross:2:input", "a.b:c:mean:output", "decoder.1.cross:0+3:output", "all:mean:input", "s:1:input:end"],
)
def test_readings_are_written_and_read(text: str) -> None:
    assert str(AttentionReading.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "2:input", "site:2:both", "site:two:input", "site:2+:input", "site::input", "site:1:end"]
)
def test_what_is_no_reading(text: str) -> None:
    with pytest.raises(InputError, match="no place to read an alignment"):
        AttentionReading.parse(text)


def test_links_in_order_of_the_source() -> None:
    assert links([2, -1, 0]) == [(0, 2), (2, 0)]


def test_what_is_left_of_words_without_a_link() -> None:
    """Two readings of one map, only the second of which asks: the first word looks elsewhere, the second does not."""
    weights = torch.tensor([[0.3, 0.1], [0.5, 0.2]]).expand(2, 2, 2)
    asked = [AttentionReading("s", (0,), "input"), AttentionReading("s", (0,), "input", end=True)]
    left = without_unlinked(weights, asked)
    assert torch.equal(left[0], weights[0])
    assert left[1].tolist() == [[0, 0], weights[0, 1].tolist()]
    assert without_unlinked(torch.zeros(2, 3, 0), asked).shape == (2, 3, 0)
