"""Which texts go side by side: those of like length, as many as a budget of tokens holds, and each once."""

from __future__ import annotations

import random

import pytest
import torch

import regard
from regard.errors import UnknownNameError
from regard.tasks.text_ids import DEVICE_TOKENS, ROWS, SHORTEST, TOKENS, token_batches

CPU = torch.device("cpu")


@pytest.mark.parametrize("beams", [1, 4, 5, 500])
@pytest.mark.parametrize("most", [None, 1, 7])
@pytest.mark.parametrize(("device", "budget"), [(CPU, TOKENS), (torch.device("meta"), DEVICE_TOKENS)])
def test_every_text_once_and_no_batch_too_large(
    device: torch.device, budget: int, most: int | None, beams: int
) -> None:
    lengths = random.Random(0).choices(range(1, 300), k=400)
    batches = list(token_batches(lengths, most, beams, device))
    assert sorted(number for batch in batches for number in batch) == list(range(400))
    for batch in batches:
        tokens = len(batch) * max(SHORTEST, *(lengths[number] for number in batch), 0) * beams
        assert len(batch) == 1 or tokens <= budget
        assert len(batch) <= (most or ROWS)
        assert len(batch) == 1 or len(batch) * beams <= ROWS
    in_order = [lengths[number] for batch in batches for number in batch]
    assert in_order == sorted(in_order)


def test_short_texts_fill_a_batch_and_a_long_one_stands_alone() -> None:
    assert [len(batch) for batch in token_batches([3] * 300, None, 4, CPU)] == [ROWS // 4, 300 - ROWS // 4]
    assert len(next(token_batches([50] * 300, None, 4, CPU))) == TOKENS // (50 * 4)
    assert list(token_batches([TOKENS, 2], None, 4, CPU)) == [[1], [0]]
    assert list(token_batches([], None, 4, CPU)) == []


def test_translations_do_not_hang_on_the_batches() -> None:
    """In order, whatever goes side by side; a sentence or two may be let go, at which two words are equally likely."""
    task = regard.load("grammar", "cpu")
    lines = [
        f"the {noun} sees the {other}." for noun in ("cat", "dog", "girl") for other in ("house", "old tree", "boy")
    ]
    expected = [task.translate([line])[0] for line in lines]
    for batch in (None, 2):
        task.batch = batch
        assert sum(a != b for a, b in zip(task.translate(lines), expected, strict=True)) <= 1


def test_a_search_stops_as_asked() -> None:
    task = regard.load("grammar", "cpu")
    assert task.beams(None, None).stop == "likely"
    assert task.beams(None, None, "proven").stop == "proven"
    calls = {}
    for stop in ("full", "likely", "proven"):
        counted: list[int] = []
        handle = task.model.decoder[0].register_forward_hook(lambda *_, counted=counted: counted.append(1))
        task.translate(["the cat sees the dog."], stop=stop)
        handle.remove()
        calls[stop] = len(counted)
    assert calls["full"] <= calls["likely"] <= calls["proven"]
    with pytest.raises(UnknownNameError, match="no stop 'prove'"):
        task.translate(["the cat sees the dog."], stop="prove")
