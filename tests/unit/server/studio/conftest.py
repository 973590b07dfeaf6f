"""One studio for all tests that only ask it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from regard.server.studio.catalogue import StudioCatalogue
from tests.studio_cases import recording, run_folder, studio_client
from tests.subjects import ours, theirs


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> StudioCatalogue:
    root = tmp_path_factory.mktemp("studio")
    named = [ours(name, root) for name in ("decoder", "encoder class", "encoder mask", "recurrent attention")]
    named += [theirs("llama", root), recording(root)]
    (root / "runs").mkdir()
    run_folder(root / "runs" / "half")
    outside = Path(root / "runs" / "elsewhere")
    outside.symlink_to(named[0])
    return StudioCatalogue.of([str(path) for path in named], root / "runs")


@pytest.fixture(scope="session")
def client(catalogue: StudioCatalogue) -> Iterator[TestClient]:
    with studio_client(catalogue) as client:
        yield client
