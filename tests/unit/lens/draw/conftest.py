"""A pair of short texts, and one long one."""

from __future__ import annotations

import pytest

from regard.lens.recording_api import Recording
from tests.heat_cases import recorded


@pytest.fixture(scope="module")
def pair() -> Recording:
    return recorded()


@pytest.fixture(scope="module")
def long() -> Recording:
    return recorded("decoder", (300,), max_length=512)
