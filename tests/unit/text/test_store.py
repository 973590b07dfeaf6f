"""Rows of ids, in memory and on disk: the same rows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.store import Store, StoreWriter, ranges

ROWS = st.lists(st.lists(st.integers(0, 60_000), max_size=6), max_size=12)


@given(ROWS, st.integers(1, 5), st.sampled_from([60_001, 1 << 16, (1 << 16) + 1]))
def test_rows_written_in_chunks_are_those_in_memory(rows: list[list[int]], chunk: int, vocabulary: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with StoreWriter(Path(folder), "text", vocabulary) as writer:
            for first in range(0, len(rows), chunk):
                writer.add(rows[first : first + chunk])
            written = writer.close()
        kept = Store.of(rows)
        assert len(written) == len(kept) == len(rows)
        assert written.lengths.tolist() == kept.lengths.tolist() == [len(row) for row in rows]
        assert written.ids.tolist() == kept.ids.tolist()
        assert written.ids.dtype == (np.uint16 if vocabulary <= 1 << 16 else np.uint32)
        assert Store.open(writer.path).ids.tolist() == kept.ids.tolist()


@given(ROWS.filter(bool), st.data())
def test_any_rows_can_be_taken_in_any_order(rows: list[list[int]], data: st.DataObject) -> None:
    numbers = np.array(data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)), np.int64)
    ids, lengths = Store.of(rows).rows(numbers)
    assert ids.tolist() == [number for n in numbers for number in rows[n]]
    assert lengths.tolist() == [len(rows[n]) for n in numbers]
    taken = Store.of(rows).take(numbers)
    assert [taken.ids[a:b].tolist() for a, b in zip(taken.starts, taken.starts[1:], strict=False)] == [
        rows[n] for n in numbers
    ]


def test_ids_stay_on_disk(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, "text", 100) as writer:
        writer.add([[1, 2, 3], [], [4]])
        store = writer.close()
    assert isinstance(store.ids, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        store.ids[0] = 9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.starts.npy", "text.u16"]


def test_an_empty_store_can_be_opened(tmp_path: Path) -> None:
    with StoreWriter(tmp_path, "text", 100) as writer:
        assert len(writer.close()) == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5))))
def test_ranges_are_what_a_loop_would_give(parts: list[tuple[int, int]]) -> None:
    starts, lengths = (np.array([part[n] for part in parts], np.int64) for n in (0, 1))
    assert ranges(starts, lengths).tolist() == [n for start, length in parts for n in range(start, start + length)]
