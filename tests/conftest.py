"""What every test shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.threads import THREADS


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Few threads: tests work on tiny tensors, and on a busy machine many would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    yield
    torch.set_num_threads(before)
