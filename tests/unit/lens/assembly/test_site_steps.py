"""Steps that nobody explains: a cache of fixed size, masks of numbers, keys that are not what they were."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import attend
from regard.attention.inputs import ScoreOptions
from regard.errors import InputError
from regard.lens.assembly.recorder import Recorder
from regard.lens.assembly.site_steps import alike, unlike
from regard.lens.assembly.step import AttentionCapture
from regard.lens.recording.mask_pattern import find_band
from tests.unit.lens.assembly.test_concat import (
    FIRST,
    KEY,
    ORDERS,
    PADDED,
    QUERY,
    VALUE,
    B,
    H,
    N,
    same,
    slices,
    stepped,
    tell,
)
from tests.unit.lens.recording.test_maps import draw

ROOM = N + 3  # keys that a cache of fixed size has, some never written
TRIANGLE = torch.ones(N, ROOM, dtype=torch.bool).tril()
SHUFFLED = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2], [2, 0, 1, 1]])


def room(batch: Tensor, stop: int) -> tuple[Tensor, Tensor]:
    """Keys and values of a cache in which nothing stands from `stop` on."""
    full = [torch.zeros(B, part.shape[1], ROOM, part.shape[-1]) for part in (KEY, VALUE)]
    for whole, part in zip(full, (KEY, VALUE), strict=True):
        whole[:, :, :stop] = part[batch, :, :stop]
    return full[0], full[1]


@pytest.mark.parametrize("kind", ["as it came", "shuffled"])
@pytest.mark.parametrize("padded", [True, False])
def test_a_mask_hides_what_a_cache_has_not_written(kind: str, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORDERS, "shuffled", SHUFFLED)
    wide = torch.nn.functional.pad(PADDED, (0, ROOM - N)) if padded else torch.ones(B, 1, 1, ROOM, dtype=torch.bool)

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        key, value = room(batch, rows.stop)
        tell(recorder, QUERY[batch, :, rows], key, value, mask=TRIANGLE[rows] & wide[batch])

    seen = stepped(kind, step)
    same(seen, causal=True, mask=PADDED if padded else None)
    assert seen.last.map("here").keys == N
    assert seen.last.map("here").terms.causal


@pytest.mark.parametrize("kind", ["as it came", "shuffled"])
def test_numbers_added_anew_at_every_step(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORDERS, "shuffled", SHUFFLED)
    added = draw(B, H, N, ROOM, seed=6)

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        key, value = room(batch, rows.stop)
        hidden = torch.finfo(torch.float32).min
        tell(recorder, QUERY[batch, :, rows], key, value, mask=added[batch][:, :, rows].where(TRIANGLE[rows], hidden))

    same(stepped(kind, step), causal=True, bias=added[..., :N])


def test_a_mask_that_hides_the_newest_key_too() -> None:
    """Sparse attention may leave out the word itself: then the keys tell what has been written."""
    sparse = TRIANGLE & (torch.rand(N, ROOM, generator=torch.Generator().manual_seed(2)) > 0.4)
    sparse[:, 0] = True

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        key, value = room(batch, rows.stop)
        tell(recorder, QUERY[:, :, rows], key, value, mask=sparse[rows])

    same(stepped("as it came", step), mask=sparse[:, :N])


def test_another_text_is_not_a_cache() -> None:
    hidden = PADDED & (torch.arange(N) < N - 2)  # all texts end early, as if something were not written yet

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], KEY, VALUE, mask=hidden)

    seen = stepped("as it came", step)
    same(seen, mask=hidden)
    assert seen.last.map("here").keys == N


def test_looking_at_another_text_without_a_cache() -> None:
    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        rounded = QUERY[:, :, : rows.stop] + 1e-6 * rows.start  # computed again, not quite the same
        tell(recorder, rounded, KEY, VALUE)

    seen = stepped("as it came", step)
    assert seen.weights("here", 0).shape == (N, N)
    assert len(seen.recorder.calls[0].steps["here"].steps) == 1


@pytest.mark.parametrize("change", ["another cache", "keys in the midst"])
def test_keys_that_are_not_what_they_were(change: str) -> None:
    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        key, value = KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop]
        if change == "another cache" and rows.start > FIRST:
            key = key + 1.0
        if change == "keys in the midst":
            key, value = (torch.cat([x, x[:, :, :2]], 2) for x in (key, value))
        tell(recorder, QUERY[:, :, rows], key, value)

    with pytest.raises(InputError, match="do not go on from each other"):
        stepped("as it came", step)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("grown", [True, False], ids=["a cache", "another text"])
def test_keys_that_were_computed_again_may_round_otherwise(grown: bool, dtype: torch.dtype) -> None:
    """A unit or two of the last digit, as on a processor that adds a product of another shape in another order."""
    spread = 1 + torch.finfo(dtype).eps * torch.arange(-1, 2, dtype=torch.float64)
    query, key, value = (part.to(dtype) for part in (QUERY, KEY, VALUE))

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        end = rows.stop if grown else N
        rounded = (key[:, :, :end] * spread[rows.start % 3]).to(dtype)
        tell(recorder, query[:, :, rows], rounded, value[:, :, :end], **({"causal": True} if grown else {}))

    seen = stepped("as it came", step)
    assert seen.weights("here", 0).shape == (N, N)
    assert len(seen.recorder.calls[0].steps["here"].steps) == len(slices())
    assert seen.badge.true, str(seen.badge)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_keys_a_few_units_apart_are_one_and_a_tenth_apart_are_others(dtype: torch.dtype) -> None:
    one = draw(2, 3, 4, 5).to(dtype)
    other = one.clone()
    other[1, 2, 3, 4] += 0.1 * one.abs().max()
    assert alike(one, one * (1 + 2 * torch.finfo(dtype).eps))
    assert not alike(one, other)
    assert unlike(one, other).tolist() == [3]


def test_keys_that_are_no_numbers_are_still_the_same() -> None:
    key = KEY.clone()
    key[:, :, 2] = float("nan")

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], key, VALUE)

    seen = stepped("as it came", step)
    assert seen.weights("here", 0).shape == (N, N)
    assert not seen.badge.true


def test_a_band_is_found_where_the_last_query_stands_on_the_last_shown_key() -> None:
    mask: Any = TRIANGLE[:4].view(1, 1, 4, ROOM)
    band = find_band(mask, ROOM - 4)
    assert band is not None
    assert (band.offset, band.left, band.right) == (0, None, 0)
    assert find_band(mask, ROOM - 4, fixed=True) is None


def test_the_check_of_a_step_is_not_lost_with_the_spare_keys() -> None:
    """A cache of fixed size under a mask: what a step measured is read later, when its spare keys have been cut off."""
    generator, recorder, room = torch.Generator().manual_seed(0), Recorder(), 10
    key, value = torch.zeros(2, 1, 2, room, 4).unbind()
    recorder.begin_call(torch.ones(1, 4, dtype=torch.long))
    for first, rows in ((0, 4), (4, 1), (5, 1)):
        query, key[:, :, first : first + rows], value[:, :, first : first + rows] = torch.randn(
            3, 1, 2, rows, 4, generator=generator
        ).unbind()
        mask = torch.arange(room) <= torch.arange(first, first + rows)[:, None]
        mask[:, 1] = False  # so that it is no triangle
        options: ScoreOptions = {"mask": mask[None, None]}
        output = attend(query, key, value, **options)
        recorder.begin_call(torch.ones(1, rows, dtype=torch.long))
        recorder.capture(AttentionCapture("site", query, key.clone(), value.clone(), output, options, "regard"))
        recorder.end_call()
    recorder.end_call()
    recorder.calls[0].settle()
    assert [(step.stop, step.map.badge.rows) for step in recorder.calls[0].steps["site"].steps] == [
        (4, 4),
        (5, 1),
        (6, 1),
    ]
