"""What every test shares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import regard


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tests work on tiny tensors: on a busy machine several threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def grammar_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The translator of `make demo`, trained once for all tests that look into it: some minutes on two cores."""
    folder = tmp_path_factory.mktemp("grammar") / "model"
    regard.train("grammar-tiny", folder, settings=["data.test={}"], device="cpu", threads=2)
    return folder
