"""What every test shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.threads import THREADS

# The same examples every time, and however slow the machine: no verdict hangs on chance or on a clock.
settings.register_profile("regard", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("regard")

# Torch warns of some things once a process, so which test sees it would hang on their order: each sees it.
torch.set_warn_always(True)


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Few threads: tests work on tiny tensors, and on a busy machine many would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    yield
    torch.set_num_threads(before)
