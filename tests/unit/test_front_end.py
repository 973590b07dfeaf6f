"""The front end's own tests: Vitest over its arithmetic, its states and its words."""

from __future__ import annotations

import subprocess

import pytest

from hatch_build import INSTALLED, STUDIO, node


@pytest.mark.skipif(not INSTALLED.is_file(), reason="the front end's packages are not installed: make studio")
def test_vitest_finds_nothing_wrong() -> None:
    npm, environment = node()
    found = subprocess.run(
        [*npm, "run", "--silent", "test"], cwd=STUDIO, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
