"""One real server for all tests that only ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from regard.server.app import create_app
from regard.server.registry import ModelRegistry
from tests.server_cases import real_models, running
from tests.threads import THREADS


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> ModelRegistry:
    return real_models(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def url(models: ModelRegistry) -> Iterator[str]:
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    app = create_app(models)
    torch.set_num_threads(before)
    with running(app) as address:
        yield address
