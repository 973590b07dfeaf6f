"""What tests of training share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training_cases import numbers, write_rows


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of numbers in words, which nobody changes."""
    return write_rows(tmp_path_factory.mktemp("corpus") / "numbers.tsv", numbers(80))
