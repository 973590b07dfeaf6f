"""The cache: what it gives back, how it grows and branches, and that a model with it says what it says without."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.decoding import KeyValueCache
from regard.models.layers import Cache
from tests.bounds import close
from tests.families import FAMILIES, families

SITES = ("decoder.0.self", "decoder.1.self")


def drawn(length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Keys of 4 dims and values of 6, for 3 rows and 2 heads."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(3, 2, length, 4, generator=generator), torch.randn(3, 2, length, 6, generator=generator)


@pytest.mark.parametrize("lengths", [[1] * 40, [5, 1, 1], [17, 1, 16, 1], [16, 1], [1, 15, 1], [3, 100, 1]])
def test_it_gives_all_that_it_was_given(lengths: list[int]) -> None:
    cache: Cache = KeyValueCache()
    given: dict[str, list[tuple[Tensor, Tensor]]] = {site: [] for site in SITES}
    for step, length in enumerate(lengths):
        for number, site in enumerate(SITES):
            given[site].append(drawn(length, 10 * step + number))
            found = cache.extend(site, *given[site][-1])
            for whole, parts in zip(found, zip(*given[site], strict=True), strict=True):
                assert torch.equal(whole, torch.cat(parts, -2))
        cache.length += length


def test_what_was_given_before_stays_as_it_was() -> None:
    """Who looked at the keys of one step still sees them after the next."""
    cache = KeyValueCache()
    first, _ = cache.extend("here", *drawn(2, 0))
    kept = first.clone()
    for step in range(30):
        cache.length = 2 + step
        cache.extend("here", *drawn(1, step))
    assert torch.equal(first, kept)


def test_growing_copies_each_position_a_few_times() -> None:
    """A quarter more each time: what is copied in all is a geometric sum, at most five times what there is."""
    cache, copied, before, steps = KeyValueCache(), 0, 0, 200
    for step in range(steps):
        cache.extend("here", *drawn(1, step))
        room = cache.growing["here"][0].shape[-2]
        copied += step if room != before else 0
        cache.length, before = cache.length + 1, room
    assert copied <= 5 * steps
    assert before <= steps * 5 / 4 + 4


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 1, 1, 0], [2], [0, 0, 1, 1, 2, 2]])
def test_rows_follow_the_beams(order: list[int]) -> None:
    cache, index = KeyValueCache(), torch.tensor(order)
    keys, values = drawn(3, 0)
    cache.extend("here", keys, values)
    fixed = cache.once("there", lambda: drawn(5, 1))
    cache.length = 3
    cache.select(index)
    newest = tuple(x[index] for x in drawn(1, 2))
    found = cache.extend("here", *newest)
    for whole, old, new in zip(found, (keys, values), newest, strict=True):
        assert torch.equal(whole, torch.cat([old[index], new], -2))
    for chosen, old in zip(cache.once("there", lambda: drawn(5, 9)), fixed, strict=True):
        assert torch.equal(chosen, old[index])


def test_reordered_rows_are_selected_rows() -> None:
    """To and fro between two buffers, also while they grow, with the source left alone."""
    one, other = KeyValueCache(), KeyValueCache()
    source = one.once("there", lambda: drawn(5, 1))[0]
    generator = torch.Generator().manual_seed(0)
    for step in range(40):
        given = drawn(1, step)
        for selected, reordered in zip(one.extend("here", *given), other.extend("here", *given), strict=True):
            assert torch.equal(selected, reordered)
        one.length = other.length = step + 1
        index = torch.randint(3, (3,), generator=generator)
        one.reorder(index)
        other.select(index)
    fewer = torch.tensor([2, 0])  # and when some rows leave
    for _ in range(2):
        one.reorder(fewer)
        other.select(fewer)
        fewer = torch.tensor([1, 1])
    for reordered, selected in zip(one.growing["here"], other.growing["here"], strict=True):
        assert torch.equal(reordered[..., :40, :], selected[..., :40, :])
    assert one.once("there", lambda: drawn(5, 9))[0] is source


def test_beams_that_branch_do_not_write_into_each_other() -> None:
    cache = KeyValueCache()
    cache.extend("here", *drawn(2, 0))
    cache.length = 2
    cache.select(torch.tensor([0, 0]))
    keys = torch.stack([torch.zeros(2, 1, 4), torch.ones(2, 1, 4)])
    found, _ = cache.extend("here", keys, torch.zeros(2, 2, 1, 6))
    assert found[0, :, -1].eq(0).all()
    assert found[1, :, -1].eq(1).all()


def test_what_is_made_once_is_made_once_for_each_site() -> None:
    cache, made = KeyValueCache(), []

    def make(site: str) -> Any:
        def now() -> tuple[Tensor, Tensor]:
            made.append(site)
            return drawn(2, len(made))

        return now

    for _ in range(3):
        for site in SITES:
            cache.once(site, make(site))
    assert made == list(SITES)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_it_keeps_the_dtype(dtype: torch.dtype) -> None:
    cache = KeyValueCache()
    keys, values = cache.extend("here", *(x.to(dtype) for x in drawn(3, 0)))
    assert keys.dtype == values.dtype == dtype


# With models


@pytest.mark.parametrize("name", families(lambda family: family.config.family == "transformer"))
@pytest.mark.parametrize("parts", [[1] * 7, [4, 1, 2], [7]])
def test_a_transformer_with_it_says_what_it_says_without(name: str, parts: list[int]) -> None:
    family = FAMILIES[name]
    model, example = family.model(), family.example(target=7)
    memory, cache, found = model.encode(example.ids, example.mask), KeyValueCache(), []
    with torch.no_grad():
        for part in example.target.split(parts, 1):
            found.append(model.decode(part, memory, example.mask, cache))
            cache.length += part.shape[1]
    close(model, torch.cat(found, 1), family.run(model, example))


@pytest.mark.parametrize("name", families(lambda family: family.config.family == "decoder"))
@pytest.mark.parametrize("parts", [[1] * 7, [4, 1, 2], [7]])
@pytest.mark.parametrize("left", [0, 3])
def test_a_decoder_with_it_says_what_it_says_without(name: str, parts: list[int], left: int) -> None:
    """With padding on the left too: the mask covers what the cache holds."""
    family = FAMILIES[name]
    model, example = family.model(), family.example(lengths=(7, 7)).padded(left, filler=5)
    cache, found = KeyValueCache(), []
    first, *rest = parts
    with torch.no_grad():
        for part in example.ids.split([left + first, *rest], 1):
            stop = cache.length + part.shape[1]
            found.append(model(part, example.mask[:, :stop] if left else None, cache))
            cache.length = stop
    close(model, torch.cat(found, 1)[example.mask], family.run(model, example)[example.mask])


def test_the_newest_word_may_follow_more_than_the_buffer_holds() -> None:
    """Long enough for the buffer to be replaced several times."""
    family = FAMILIES["decoder post"]
    model, example = family.model(), family.example(lengths=(70,))
    cache, found = KeyValueCache(), []
    with torch.no_grad():
        for word in example.ids.split(1, 1):
            found.append(model(word, None, cache))
            cache.length += 1
    close(model, torch.cat(found, 1), model(example.ids), length=70)
