"""The best continuations against a sort of everything."""

from __future__ import annotations

import pytest
import torch

from regard.decoding.candidates import CHUNK, best_candidates

SIZES = [1, 5, CHUNK, 10 * CHUNK, 10 * CHUNK + 1, 50 * CHUNK - 1]


@pytest.mark.parametrize("vocabulary", SIZES)
@pytest.mark.parametrize(("beams", "count"), [(1, 8), (4, 8), (3, 12), (5, 5)])
def test_they_are_the_best_of_all(beams: int, count: int, vocabulary: int) -> None:
    generator = torch.Generator().manual_seed(vocabulary)
    running, logs = torch.randn(3, beams, generator=generator), torch.randn(3, beams, vocabulary, generator=generator)
    logs[0, 0, : vocabulary // 2] = float("-inf")  # what is banned
    running[1, -1] = float("-inf")  # a beam that has died out
    found = best_candidates(running, logs, count)
    totals = (running[..., None] + logs).flatten(1).sort(-1, descending=True)
    real = min(count, beams * vocabulary)
    assert torch.equal(found.scores[:, :real], totals.values[:, :real])
    assert found.scores[:, real:].eq(float("-inf")).all()
    rows = torch.arange(3)[:, None]
    assert torch.equal(running[rows, found.parents][:, :real] + logs[rows, found.parents, found.ids][:, :real],
                       totals.values[:, :real])  # fmt: skip
    chosen = (found.parents * vocabulary + found.ids)[2, :real]
    assert len(chosen.unique()) == real


def test_what_is_not_a_number_is_not_lost() -> None:
    """It comes first, so that a search notices it."""
    logs = torch.randn(1, 2, 20 * CHUNK, generator=torch.Generator().manual_seed(0))
    logs[0, 1, 700] = float("nan")
    assert best_candidates(torch.zeros(1, 2), logs, 4).scores[0, 0].isnan()
