"""Steps of a generation, joined: whatever the cache, the mask and the bias were, the map is that of one pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention import attend
from regard.errors import InputError
from regard.lens.assembly.recorder import Recorder
from regard.lens.assembly.step import AttentionCapture
from regard.lens.recording_api import Recording
from tests.bounds import weights_apart
from tests.unit.lens.recording.test_maps import draw, truth

B, H, J, N, D, V, FIRST = 3, 4, 2, 12, 5, 3, 5  # FIRST tokens are read at once, the rest one by one
QUERY, KEY, VALUE = draw(B, H, N, D, seed=1), draw(B, J, N, D, seed=2), draw(B, J, N, V, seed=3)
BOUND = weights_apart(QUERY, KEY)
PADDED = (torch.arange(N) >= torch.tensor([0, 2, 3])[:, None])[:, None, None]
TABLE = draw(H, 2 * N - 1, seed=4)
BY_DISTANCE = TABLE[:, torch.arange(N) - torch.arange(N)[:, None] + N - 1][None]
ORDERS = {"as it came": None, "moved": torch.tensor([[2, 0, 1, 2], [0, 2, 2, 0], [1, 1, 0, 1]])}


def tell(recorder: Recorder, query: Tensor, key: Tensor, value: Tensor, first_key: int = 0, **options: Any) -> None:
    output = attend(query, key, value, **options)
    recorder.capture(AttentionCapture("here", query, key, value, output, options, "test", first_key))  # type: ignore[arg-type]


def slices() -> list[slice]:
    return [slice(0, FIRST), *(slice(i, i + 1) for i in range(FIRST, N))]


def rows_of(turn: int, kind: str) -> Tensor:
    """Where each text stands in the batch at a turn."""
    order = ORDERS[kind]
    return torch.arange(B) if order is None else order[:, turn % order.shape[1]]


def stepped(kind: str, step: Any, **call: Any) -> Recording:
    """Tell a generation turn by turn; `step(recorder, rows of queries, order of the batch)` tells one."""
    recorder = Recorder()
    recorder.begin_call(None)
    order = []
    for turn, rows in enumerate(slices()):
        recorder.begin_call(torch.zeros(B, rows.stop - rows.start, dtype=torch.long))
        where = rows_of(turn, kind)
        order.append(where)
        batch = torch.zeros(B, dtype=torch.long)
        batch[where] = torch.arange(B)  # which text stands in each row
        step(recorder, rows, batch)
        recorder.end_call()
    recorder.end_call(order=None if ORDERS[kind] is None else torch.stack(order, 1))
    return Recording(recorder)


def same(seen: Recording, **options: Any) -> None:
    expected = truth(QUERY, KEY, VALUE, **options).weights
    for batch in range(B):
        for head in range(H):
            found = seen.weights("here", head, batch=batch).double()
            torch.testing.assert_close(found, expected[batch, head], atol=BOUND, rtol=0)
    assert seen.badge.true, str(seen.badge)


@pytest.mark.parametrize("kind", [kind for kind in ORDERS if kind != "moved"] + ["shuffled"])
@pytest.mark.parametrize("causal", [True, False])
def test_a_growing_cache(kind: str, causal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORDERS, "shuffled", torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2], [2, 0, 1, 1]]))

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        query, key, value = QUERY[batch, :, rows], KEY[batch, :, : rows.stop], VALUE[batch, :, : rows.stop]
        tell(recorder, query, key, value, mask=PADDED[batch, ..., : rows.stop], causal=causal or rows.start == 0)

    seen = stepped(kind, step)
    same(seen, causal=True, mask=PADDED)
    terms = seen.last.map("here").terms
    assert terms.causal
    assert terms.mask is not None
    assert terms.mask.shape == (B, 1, 1, N)


def test_masks_of_steps_are_not_kept_one_by_one() -> None:
    recorder = Recorder()

    def step(_: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop],
             mask=PADDED[..., : rows.stop], bias=BY_DISTANCE[..., rows, : rows.stop], causal=True)  # fmt: skip

    recorder.begin_call(None)
    for rows in slices():
        recorder.begin_call(None)
        step(recorder, rows, torch.arange(B))
        recorder.end_call()
    recorder.end_call()
    parts = recorder.calls[0].steps["here"].steps
    assert len(parts) == N - FIRST + 1
    assert [part.map.terms.mask is not None for part in parts] == [False] * (len(parts) - 1) + [True]
    assert sum(part.map.terms.bias is not None for part in parts) == 1
    assert sum(part.map.key.shape[2] for part in parts) == N
    same(Recording(recorder), causal=True, mask=PADDED, bias=BY_DISTANCE)


def test_a_bias_by_distance_stays_one() -> None:
    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop], causal=True,
             bias=BY_DISTANCE[..., rows, : rows.stop])  # fmt: skip

    seen = stepped("as it came", step)
    same(seen, causal=True, bias=BY_DISTANCE)
    terms = seen.last.map("here").terms
    assert terms.bias is None
    assert terms.diagonals is not None


def test_any_other_bias_is_laid_out() -> None:
    bias = draw(B, 1, N, N, seed=8)

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop], causal=True,
             bias=bias[..., rows, : rows.stop])  # fmt: skip

    same(stepped("as it came", step), causal=True, bias=bias)


def test_a_cache_with_room_for_all() -> None:
    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        room = KEY.clone()
        room[:, :, rows.stop :] = 0.0
        tell(recorder, QUERY[:, :, rows], room, VALUE, causal=True, offset=rows.start, mask=PADDED)

    same(stepped("as it came", step), causal=True, mask=PADDED)


@pytest.mark.parametrize("told", [True, False])
def test_a_cache_that_slides(told: bool) -> None:
    wide = 4

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        first = 0 if rows.start == 0 else max(0, rows.stop - wide)
        window = (wide - 1, 0) if told or rows.start == 0 else None
        keys = slice(first, rows.stop)
        tell(recorder, QUERY[:, :, rows], KEY[:, :, keys], VALUE[:, :, keys], first, window=window,
             causal=True, mask=PADDED[..., keys])  # fmt: skip

    seen = stepped("as it came", step)
    same(seen, causal=True, window=(wide - 1, 0), mask=PADDED)
    terms = seen.last.map("here").terms
    assert terms.causal
    assert terms.mask is not None
    assert terms.mask.shape == (B, 1, 1, N)  # also where the padding has slid away


def test_looking_at_another_text() -> None:
    hidden = PADDED.flip(-1)

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], KEY, VALUE, mask=hidden)

    seen = stepped("as it came", step)
    same(seen, mask=hidden)
    assert sum(part.map.key.shape[2] for part in seen.recorder.calls[0].steps["here"].steps) == N


def test_masks_that_change_from_step_to_step() -> None:
    changing = draw(B, 1, N, N, seed=6) > -1.5

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        mask = changing[:, :, rows, : rows.stop]
        tell(recorder, QUERY[:, :, rows], KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop], mask=mask, causal=True)

    same(stepped("as it came", step), causal=True, mask=changing)


def test_without_a_cache_the_last_turn_tells_all() -> None:
    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        upto = slice(0, rows.stop)
        tell(recorder, QUERY[:, :, upto], KEY[:, :, upto], VALUE[:, :, upto], causal=True)

    same(stepped("as it came", step), causal=True)


def test_texts_of_unequal_length() -> None:
    ends = [3, 8, 5]  # turns that each text took part in

    recorder = Recorder()
    recorder.begin_call(None)
    for rows in slices():
        recorder.begin_call(torch.zeros(B, rows.stop - rows.start, dtype=torch.long))
        tell(recorder, QUERY[:, :, rows], KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop], causal=True)
        recorder.end_call()
    order = torch.tensor([[b if turn < ends[b] else -1 for turn in range(N - FIRST + 1)] for b in range(B)])
    recorder.end_call(order=order)
    seen = Recording(recorder)
    expected = truth(QUERY, KEY, VALUE, causal=True).weights
    for batch, end in enumerate(ends):
        size = FIRST + end - 1
        found = seen.weights("here", 1, batch=batch)
        assert found.shape == (size, size)
        torch.testing.assert_close(found.double(), expected[batch, 1, :size, :size], atol=BOUND, rtol=0)
    assert bool((seen.statistics("here").entropy[0, :, FIRST + 2 :] == 0).all())
    torch.testing.assert_close(
        seen.received("here")[0].double(), expected[0, :, : FIRST + 2].sum(-2), atol=N * BOUND, rtol=0
    )


def test_rules_that_change_make_no_one_map() -> None:
    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop], causal=True,
             scale=1.0 + rows.start)  # fmt: skip

    seen = stepped("as it came", step)
    with pytest.raises(InputError, match="cannot be made into"):
        seen.weights("here", 0)


def test_a_wrong_order_shows_in_the_sums_of_rows() -> None:
    """The badge is taken step by step; a join that went wrong shows where weights are read."""

    def step(recorder: Recorder, rows: slice, batch: Tensor) -> None:
        tell(recorder, QUERY[:, :, rows], KEY[:, :, : rows.stop], VALUE[:, :, : rows.stop], causal=True)

    seen = stepped("as it came", step)
    entry = seen.recorder.calls[0]
    entry.order, entry.call = torch.tensor([[0] + [1] * (N - FIRST)]), None
    assert not seen.badge.sums_to_one
    assert not seen.badge.true
