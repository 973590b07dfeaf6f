"""Curves for TensorBoard, which needs nothing beside itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from regard.training.report.boards import Board
from regard.training.report.events import Event, Stepped, Validated


def test_curves_are_written_where_there_is_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    heard: list[Event] = []
    board = Board(tmp_path, heard.append)
    events = [Stepped(3, 9, 0, 2.5, 0.1, 70.0, 1.0, 2.0), Validated(3, 1.0, {"loss": 2.25}, best=True)]
    for event in events:
        board(event)
    board.writer.close()
    curves = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    found = {name: [(one.step, one.value) for one in curves.Scalars(name)] for name in ("train/loss", "valid/loss")}
    assert found == {"train/loss": [(3, 2.5)], "valid/loss": [(3, 2.25)]}
    assert heard == events
