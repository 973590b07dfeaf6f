"""A small model and a file with every kind of line, for all tests of bulk translation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.subjects import ours

LINES = [
    "w1 w2 w3", "", "w4 w5", "   ", "w6\u2028w7 \x85 w8", "w9\tw10", "w11 \ufffd w12", "w13\rw14", "w15", "",
    *(f"w{number % 30} w{number % 7}" for number in range(13)),
]  # fmt: skip


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(ours("transformer post", tmp_path_factory.mktemp("model")))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_bytes("\n".join(LINES).encode())  # the last line has no end
    return path
