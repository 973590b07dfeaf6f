"""Rows of ids, end to end: in memory, or in a file that is larger than memory and read in place."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Store:
    """Row r is ids[starts[r] : starts[r + 1]]."""

    ids: Array
    starts: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Array:
        return np.diff(self.starts)

    @property
    def longest(self) -> int:
        """The most ids that any row has."""
        return int(self.lengths.max(initial=0))

    def rows(self, numbers: Array) -> tuple[Array, Array]:
        """The ids of some rows end to end, and the length of each."""
        lengths = self.starts[numbers + 1] - self.starts[numbers]
        return self.ids[ranges(self.starts[numbers], lengths)].astype(np.int64), lengths

    def take(self, numbers: Array) -> Store:
        """Only some rows."""
        ids, lengths = self.rows(numbers)
        return Store(ids, starts_of(lengths))

    @classmethod
    def of(cls, rows: Iterable[list[int]]) -> Store:
        """From lists, in memory."""
        listed = [np.asarray(row, dtype=np.int64) for row in rows]
        flat = np.concatenate(listed) if listed else np.zeros(0, np.int64)
        return cls(flat, starts_of(np.array([len(row) for row in listed], dtype=np.int64)))

    @classmethod
    def open(cls, path: Path) -> Store:
        """What a `StoreWriter` wrote; the ids stay on disk until they are asked for."""
        starts = np.load(path.with_suffix(".starts.npy"))
        width = np.dtype(np.uint16 if path.suffix == ".u16" else np.uint32)
        ids: Array = np.memmap(path, dtype=width, mode="r") if starts[-1] else np.zeros(0, width)
        return cls(ids, starts)


def starts_of(lengths: Array) -> Array:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def ranges(starts: Array, lengths: Array) -> Array:
    """starts[0], starts[0] + 1, ... for each start as many as its length says, without a loop."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


class StoreWriter:
    """Writes rows as they come, for the length of a with block; only their lengths are kept in memory."""

    def __init__(self, folder: Path, name: str, vocabulary: int) -> None:
        self.path = folder / f"{name}.{'u16' if vocabulary <= 1 << 16 else 'u32'}"
        self.width = np.uint16 if vocabulary <= 1 << 16 else np.uint32
        self.file = self.path.open("wb")
        self.lengths: list[int] = []

    def add(self, rows: Iterable[list[int]]) -> None:
        for row in rows:
            self.lengths.append(len(row))
            self.file.write(np.asarray(row, dtype=self.width).tobytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def close(self) -> Store:
        """Everything is written, and safe on disk; open it."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        np.save(self.path.with_suffix(".starts.npy"), starts_of(np.array(self.lengths, dtype=np.int64)))
        return Store.open(self.path)
