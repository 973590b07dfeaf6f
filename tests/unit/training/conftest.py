"""What tests of training share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training_cases import numbers, write_rows
from tests.two_processes import Launcher


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of numbers in words, which nobody changes."""
    return write_rows(tmp_path_factory.mktemp("corpus") / "numbers.tsv", numbers(80))


@pytest.fixture(scope="session")
def together() -> Iterator[Launcher]:
    """Trains in several processes."""
    launcher = Launcher()
    yield launcher
    launcher.close()
