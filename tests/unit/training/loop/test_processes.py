"""Several processes, one run: each has dropout of its own, and none gets in the way of the others."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.training.loop.checkpoint_files import checkpoints, read_state, save_state
from tests.training_cases import RANDOM, TINY, go, same, write_rows
from tests.two_processes import Launcher, under_torchrun

pytestmark = [
    pytest.mark.xdist_group("processes"),  # in one worker: a stopped run and what starts processes are made once
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by fork"),
]


@pytest.fixture(scope="module")
def broken(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two processes that was stopped after step 5, as torchrun starts them."""
    folder = tmp_path_factory.mktemp("broken") / "run"
    assert [process[-1]["status"] for process in under_torchrun(corpus, folder, "stop:5")] == ["interrupted"] * 2
    return folder


def draws(process: list[dict[str, Any]]) -> dict[int, list[float]]:
    return {line["step"]: line["draws"] for line in process if "step" in line}


def copied(broken: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(broken, tmp_path / "run"))


def test_processes_that_resume_go_on_with_their_own_dropout(
    corpus: Path, broken: Path, tmp_path: Path, together: Launcher
) -> None:
    whole = together(corpus, tmp_path / "whole")
    folder = copied(broken, tmp_path)
    first, second = together(corpus, folder)
    assert list(draws(first)) == list(draws(second)) == [6, 7, 8, 9, 10]
    assert all(draws(first)[step] != draws(second)[step] for step in draws(first))
    for resumed, straight in zip((first, second), whole, strict=True):
        assert draws(resumed).items() <= draws(straight).items()
    same(folder, tmp_path / "whole")


def test_a_process_that_joins_later_has_dropout_that_nobody_else_has(
    corpus: Path, broken: Path, tmp_path: Path, together: Launcher
) -> None:
    """Three go on with what two began; the third has nothing to go on with, as in a checkpoint of an older version."""
    folder = copied(broken, tmp_path)
    processes = together(corpus, folder, processes=3)
    for step in range(6, 11):
        assert len({tuple(draws(process)[step]) for process in processes}) == 3


def test_a_checkpoint_with_the_dropout_of_one_process_alone_is_still_read(
    corpus: Path, broken: Path, tmp_path: Path, together: Launcher
) -> None:
    folder = copied(broken, tmp_path)
    place = folder / "checkpoints"
    position, tensors = read_state(checkpoints(place)[0])
    old = {name: tensor for name, tensor in tensors.items() if not re.fullmatch(r"chance/\w+/\d+", name)}
    assert len(old) < len(tensors)
    save_state(place, position, old, keep=2)
    first, second = (draws(process) for process in together(corpus, folder))
    assert list(first) == list(second) == [6, 7, 8, 9, 10]
    assert all(first[step] != second[step] for step in first)


def test_one_process_goes_on_with_what_two_began(corpus: Path, broken: Path, tmp_path: Path) -> None:
    folder = copied(broken, tmp_path)
    before = read_state(checkpoints(folder / "checkpoints")[0])[1]["chance/cpu"]
    assert go(corpus, folder, TINY, RANDOM).status == "finished"
    after = read_state(checkpoints(folder / "checkpoints")[0])[1]
    assert [name for name in after if name.startswith("chance/")] == ["chance/cpu"]
    assert not torch.equal(after["chance/cpu"], before)


def test_a_process_that_cannot_open_the_prepared_text_takes_it_from_nobody(
    corpus: Path, tmp_path: Path, together: Launcher
) -> None:
    first, second = together(corpus, tmp_path / "run", "blind:1")
    assert [first[-1]["status"], second[-1]["status"]] == ["failed", "failed"]
    assert first[-1]["error"] == second[-1]["error"]
    assert "process 1" in first[-1]["error"]
    assert "meta.json" in first[-1]["error"]
    assert (tmp_path / "run" / "prepared" / "meta.json").is_file()
    assert [process[-1]["status"] for process in together(corpus, tmp_path / "run")] == ["finished"] * 2


def test_what_the_first_process_cannot_prepare_is_the_error_of_all(tmp_path: Path, together: Launcher) -> None:
    corpus = write_rows(tmp_path / "long.tsv", [("one " * 200, "un " * 200)] * 3)
    first, second = together(corpus, tmp_path / "run")
    assert first[-1]["error"].startswith("process 0: the validation set is empty")
    assert first[-1]["error"] == second[-1]["error"]
