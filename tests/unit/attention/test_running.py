"""What the running sums of statistics ask of each block."""

from __future__ import annotations

import pytest
import torch

from regard.attention.statistics import largest


@pytest.mark.parametrize("keys", [1, 63, 64, 1000, 1024, 1088, 2048])
def test_the_largest_is_what_max_says_and_the_first_of_equals(keys: int) -> None:
    scores = torch.randint(0, 40, (2, 3, 1, 5, keys), generator=torch.Generator().manual_seed(keys)).double()
    scores[0, 0, 0, 0] = float("-inf")
    scores[0, 1, 0, 1] = 7.0
    scores[1, 1, 0, 2, keys // 2] = float("nan")
    scores[1, 2, 0, 3, -1] = 99.0
    top, key = largest(scores)
    torch.testing.assert_close(top, scores.amax(-1), rtol=0, atol=0, equal_nan=True)
    as_large = (scores == top[..., None]) | scores.isnan()
    assert torch.equal(key, as_large.int().argmax(-1))
