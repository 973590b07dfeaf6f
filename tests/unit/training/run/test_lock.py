"""Two trainings never share a folder, and a killed one never keeps it."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from regard.errors import FileError, InputError
from regard.training.report.events import Saved
from regard.training.run import lock
from regard.training.run.lock import locked
from tests.training_cases import TINY, EventRecorder, Stop, go

ROOT = Path(__file__).parents[4]
HOLD = (
    "import sys, time; from pathlib import Path; from regard.training.run.lock import locked\n"
    "with locked(Path(sys.argv[1])):\n"
    "    print('held', flush=True)\n"
    "    sys.stdin.read()\n"
)


def holder(folder: Path) -> subprocess.Popen[str]:
    """Another process that holds the folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    process = holder(tmp_path)
    with pytest.raises(InputError, match="somebody else is training") as error, locked(tmp_path):
        pass
    assert f"process {process.pid} on {socket.gethostname()}" in error.value.found
    assert str(tmp_path) in error.value.found  # its command
    assert "choose another --out" in error.value.do
    assert str(tmp_path / "lock") in error.value.do
    assert json.loads((tmp_path / "lock").read_text())["pid"] == process.pid  # being refused leaves it alone
    process.communicate("")
    with locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process outright")
def test_the_lock_of_a_killed_process_is_taken_over_and_said(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.kill()
    process.communicate()
    heard = EventRecorder()
    with locked(tmp_path, heard):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()
    assert f"process {process.pid}" in heard.notes
    assert "took over the lock" in heard.notes
    assert not (tmp_path / "lock").exists()


def test_two_threads_of_one_process_are_two(tmp_path: Path) -> None:
    errors: list[str] = []

    def second() -> None:
        try:
            with locked(tmp_path):
                pass
        except InputError as error:
            errors.append(error.found)

    with locked(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        assert (tmp_path / "lock").exists()
    assert [f"process {os.getpid()}" in found for found in errors] == [True]


def test_a_lock_on_a_file_that_was_just_removed_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner removes it between our opening it and our locking it."""
    grab = lock.grab

    def late(handle: int) -> bool:
        (tmp_path / "lock").unlink()
        return grab(handle)

    monkeypatch.setattr(lock, "grab", late)
    with pytest.raises(InputError, match="somebody else"), locked(tmp_path):
        pass


def test_where_there_are_no_locks_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(handle: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "grab", none)
    heard = EventRecorder()
    with locked(tmp_path, heard):
        pass
    assert "No locks available" in heard.warnings
    assert "nobody else" in heard.warnings


def test_what_the_file_says_may_be_anything(tmp_path: Path) -> None:
    for text in ("", "[1]", '{"pid": 1', "\udcff"):
        (tmp_path / "lock").write_text(text, errors="surrogateescape")
        with locked(tmp_path):
            pass
        assert not (tmp_path / "lock").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"), locked(tmp_path / "file"):
        pass


# In a training


def test_a_second_training_is_refused_and_the_first_goes_on(corpus: Path, tmp_path: Path) -> None:
    refused: list[Any] = []

    def listener(event: Any) -> None:
        if isinstance(event, Saved) and not refused:
            with pytest.raises(InputError, match="somebody else is training") as error:
                go(corpus, tmp_path / "model", TINY)
            refused.append(error.value)

    outcome = go(corpus, tmp_path / "model", TINY, listener=listener)
    assert outcome.status == "finished"
    assert len(refused) == 1
    assert not (tmp_path / "model" / "lock").exists()
    assert go(corpus, tmp_path / "model", TINY).status == "already finished"


def test_a_training_that_broke_off_leaves_no_lock(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        go(corpus, tmp_path / "model", TINY, listener=EventRecorder(lambda event: isinstance(event, Saved)))
    assert not (tmp_path / "model" / "lock").exists()


def test_settings_that_are_wrong_claim_nothing(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        go(corpus, tmp_path / "model", TINY, {"model.heads": 3})
    assert not (tmp_path / "model").exists()
