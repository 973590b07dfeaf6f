"""A run may go on with other processes, and with its weights laid out over them in another way."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.training.loop.checkpoint_files import checkpoints, read_state
from tests.bounds import small_apart
from tests.training_cases import RANDOM, TINY, EventRecorder, Stop, go, same
from tests.two_processes import Launcher, Notes, under_torchrun

pytestmark = [
    pytest.mark.xdist_group("processes"),  # in one worker, which starts what forks them once
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by fork"),
]
# An epsilon of Adam that is large beside what is zero but for rounding; batches of few rows, not the same for each.
EXACT = {"model.dropout": 0.0, "training.epsilon": 1e-2, "training.average": "moving", "training.batch_tokens": 48}
SHARDED = {"training.layout": "sharded"}


@pytest.fixture(scope="module")
def alone(corpus: Path, tmp_path_factory: pytest.TempPathFactory, together: Launcher) -> tuple[Path, dict[int, float]]:
    """The run of one process, and its losses."""
    folder = tmp_path_factory.mktemp("alone") / "run"
    return folder, losses_of(together(corpus, folder, processes=1, how=EXACT)[0])


def losses_of(notes: list[dict[str, Any]]) -> dict[int, float]:
    return {note["step"]: note["loss"] for note in notes if "loss" in note}


def close_losses(found: dict[int, float], wanted: dict[int, float]) -> None:
    """A step goes as far as its rate, 0.001, times a gradient of about 1 over 0.01, and moves the next loss by that."""
    for step, loss in found.items():
        assert abs(loss - wanted[step]) <= (1 + step) * small_apart(loss)


def close_weights(found: Path, wanted: Path) -> None:
    one, other = (load_file(folder / "model.safetensors") for folder in (found, wanted))
    assert [(name, tensor.shape) for name, tensor in one.items()] == [(name, t.shape) for name, t in other.items()]
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=10 * 0.001 * small_apart() / 0.01, rtol=1e-4)


def statuses(notes: Notes) -> list[str]:
    return [process[-1]["status"] for process in notes]


@pytest.mark.parametrize("layout", ["replicated", "sharded"])
@pytest.mark.parametrize("processes", [2, 3])
def test_the_run_of_several_processes_is_that_of_one(
    processes: int, layout: str, corpus: Path, alone: tuple[Path, dict[int, float]], tmp_path: Path, together: Launcher
) -> None:
    how = {**EXACT, "training.layout": layout, "training.micro_batches": processes - 1}
    notes = together(corpus, tmp_path / "run", processes=processes, how=how)
    assert statuses(notes) == ["finished"] * processes
    for process in notes:
        assert list(losses_of(process)) == list(range(1, 11))
        assert losses_of(process) == losses_of(notes[0])
    close_losses(losses_of(notes[0]), alone[1])
    close_weights(tmp_path / "run", alone[0])
    states = [read_state(checkpoints(folder / "checkpoints")[0])[1] for folder in (tmp_path / "run", alone[0])]
    shapes = [{n: t.shape for n, t in state.items() if not re.fullmatch(r"chance/\w+/\d+", n)} for state in states]
    assert shapes[0] == shapes[1]
    assert regard.load(tmp_path / "run", "cpu").translate(["one two"])


def test_a_run_goes_on_in_every_layout(
    corpus: Path, alone: tuple[Path, dict[int, float]], tmp_path: Path, together: Launcher
) -> None:
    """One process, then two with copies, three with shares, two with copies, and one again."""
    folder = tmp_path / "run"
    with pytest.raises(Stop):
        go(corpus, folder, TINY, EXACT, listener=EventRecorder(lambda event: getattr(event, "step", 0) == 4))
    for processes, layout, fault in ((2, {}, "stop:5"), (3, SHARDED, "stop:7"), (2, {}, "stop:9")):
        notes = together(corpus, folder, fault, processes, {**EXACT, **layout})
        assert statuses(notes) == ["interrupted"] * processes
        close_losses(losses_of(notes[0]), alone[1])
    assert go(corpus, folder, TINY, EXACT).status == "finished"
    close_weights(folder, alone[0])


@pytest.mark.parametrize(("processes", "layout"), [(3, {}), (3, SHARDED)])
def test_processes_that_resume_end_with_the_very_same_weights(
    processes: int, layout: dict[str, str], corpus: Path, tmp_path: Path, together: Launcher
) -> None:
    how = {**RANDOM, **layout}
    whole = together(corpus, tmp_path / "whole", processes=processes, how=how)
    assert statuses(together(corpus, tmp_path / "run", "stop:5", processes, how)) == ["interrupted"] * processes
    notes = together(corpus, tmp_path / "run", processes=processes, how=how)
    assert statuses(notes) == ["finished"] * processes
    same(tmp_path / "run", tmp_path / "whole")
    for step in range(10):
        assert len({tuple(process[step]["draws"]) for process in whole}) == processes


def test_where_memory_runs_out_in_one_share_the_next_start_takes_smaller_parts(
    corpus: Path, alone: tuple[Path, dict[int, float]], tmp_path: Path, together: Launcher
) -> None:
    how = {**EXACT, **SHARDED}
    first, second = together(corpus, tmp_path / "run", "scarce:1", how=how)
    assert "memory ran out" in second[-1]["error"]
    assert "in 2 parts" in second[-1]["error"]
    assert "another process of this run has ended" in first[-1]["error"]
    notes = together(corpus, tmp_path / "run", "scarce:1", how=how)
    assert statuses(notes) == ["finished"] * 2
    assert {note["parts"] for process in notes for note in process if "parts" in note} == {2}
    close_losses(losses_of(notes[0]), alone[1])


def test_a_killed_process_is_started_again_on_every_machine(corpus: Path, tmp_path: Path, together: Launcher) -> None:
    """Two agents of torchrun, one process each; one is killed between checkpoints, and nobody else does anything."""
    together(corpus, tmp_path / "whole")
    notes = under_torchrun(corpus, tmp_path / "run", "kill:6", nodes=2)
    assert statuses(notes) == ["finished"] * 2
    assert [note["step"] for note in notes[0] if "step" in note] == [1, 2, 3, 4, 5, *range(5, 11)]
    same(tmp_path / "run", tmp_path / "whole")
