"""What is shown when nobody says: the head that tells tokens apart best, and names as people write them."""

from __future__ import annotations

import pytest
import torch

from regard.errors import InputError
from regard.lens.draw.default_view import choose, find_sites, find_token, mutual_information
from regard.lens.recording_api import Recording
from tests.bounds import small_apart
from tests.heat_cases import CROSS


def test_the_head_that_tells_tokens_apart_is_chosen(pair: Recording) -> None:
    choice = choose(pair.last)
    assert choice.site == CROSS
    apart = mutual_information(pair.last, CROSS, 0)
    assert choice.head == apart.index(max(apart))
    for head, found in enumerate(apart):
        weights = pair.weights(CROSS, head).double()
        mean = weights.mean(0)
        entropies = torch.special.xlogy(weights, weights).sum(-1).mean() - torch.special.xlogy(mean, mean).sum()
        assert found == pytest.approx(
            float(entropies), abs=small_apart(5.0)
        )  # of numbers up to the logarithm of the keys
    assert choose(pair.last, "encoder").site.startswith("encoder")
    assert choose(pair.last, "decoder.*.self", 3).head == 3
    assert (choose(pair.last, "encoder.1.self", 2).why, choose(pair.last, "er.1.cr", 2).why != "") == ("", True)


def test_a_long_text_is_not_searched(long: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.lens.draw.default_view.CELLS", 1000)
    assert choose(long.last).site == "decoder.1.self"
    assert choose(long.last).why == "the last there is"


def test_sites_and_tokens_by_name(pair: Recording) -> None:
    assert find_sites(pair.last, "cross") == ["decoder.0.cross", CROSS]
    assert find_sites(pair.last, "encoder.*") == ["encoder.0.self", "encoder.1.self"]
    with pytest.raises(InputError, match="did you mean 'cross'"):
        find_sites(pair.last, "crosss")
    assert find_token(["a", "B", "a"], "a") == [0, 2]
    assert find_token(["a", "B", "a"], "b") == [1]
    assert find_token(["a", "B", "a"], "-1") == [2]
    assert find_token(["7", "B"], "7") == [0]
    for wrong in ("9", "animul"):
        with pytest.raises(InputError, match="there is no"):
            find_token(["animal", "a"], wrong)


def test_a_character_in_parts_is_found_by_itself() -> None:
    assert find_token(["a", "🙂₁", "🙂₂", "x₂"], "🙂") == [1, 2]
    assert find_token(["a", "🙂₁", "🙂₂"], "🙂₂") == [2]
