"""What every test of updates shares."""

from __future__ import annotations

import pytest

from regard.training.loop import loop
from regard.training.plan.planning import Planner
from regard.training.plan.probe import Speed


@pytest.fixture(autouse=True)
def nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults are counted by updates, and those of a measurement would count too."""
    monkeypatch.setattr(Planner, "speed", lambda planner, recipe: Speed(0.1, 100.0))


@pytest.fixture(autouse=True)
def every_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "REPORT_EVERY", 0.0)
