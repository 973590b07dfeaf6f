"""`make test-portable` tries what it says: every value once, Pythons that are there, and red when anything is red."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.threads import THREADS
from tools import portable
from tools.portable import CHOICES, CONFIGURATIONS, Configuration

ROOT = Path(__file__).resolve().parents[3]
ASKED = {
    "ATEN_CPU_CAPABILITY": {"default", "avx2"},
    "MKL_CBWR": {"COMPATIBLE", "AVX2"},
    "ONEDNN_MAX_CPU_ISA": {"SSE41", ""},  # "": the machine's own
    "REGARD_TEST_THREADS": {"1", "2", "4"},
}


def test_every_value_is_tried_at_least_once() -> None:
    for name, values in ASKED.items():
        assert values <= {one.settings.get(name, "") for one in CONFIGURATIONS}, name
    assert set(ASKED) == set(CHOICES)
    assert any(not set(one.settings) - {"REGARD_TEST_THREADS"} for one in CONFIGURATIONS)  # the machine as it is
    assert len({one.name for one in CONFIGURATIONS}) == len(CONFIGURATIONS)


def test_what_this_process_was_told_does_not_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    monkeypatch.setenv("REGARD_TEST_THREADS", "7")
    found = Configuration("bare", "").environment()
    assert not set(CHOICES) & set(found)
    assert found["PATH"] == os.environ["PATH"]
    four = Configuration("four", "", {"REGARD_TEST_THREADS": "4"}).environment()
    assert (four["REGARD_TEST_THREADS"], four["OMP_NUM_THREADS"]) == ("4", "4")


def test_the_threads_asked_for_are_those_of_every_test() -> None:
    assert torch.get_num_threads() == THREADS


def ran(status: int, asked: list[dict[str, Any]]) -> Any:
    def run(command: list[Any], **how: Any) -> subprocess.CompletedProcess[str]:
        asked.append({"command": [str(word) for word in command], **how})
        return subprocess.CompletedProcess(command, status, "", "")

    return run


@pytest.mark.parametrize("status", [0, 1])
def test_what_is_red_is_named_and_makes_the_whole_red(
    status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(subprocess, "run", ran(status, asked))
    monkeypatch.setattr(portable, "find_python", lambda version: None)
    monkeypatch.setattr(sys, "argv", ["portable", "--only", "plain", "--only", "avx2", "tests/unit/lens"])
    if status:
        with pytest.raises(SystemExit, match="red: plain, avx2"):
            portable.main()
    else:
        portable.main()
    said = capsys.readouterr().out
    assert ("RED" in said) is bool(status)
    assert "not on this machine" in said
    assert [one["env"]["ATEN_CPU_CAPABILITY"] for one in asked] == ["default", "avx2"]
    assert all(one["command"][-1] == "tests/unit/lens" for one in asked)


def test_a_configuration_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(portable, "find_python", lambda version: None)
    monkeypatch.setattr(sys, "argv", ["portable", "--only", "plain", "--only", "none"])
    with pytest.raises(SystemExit):
        portable.main()
    assert "known: 'plain', 'avx2'" in capsys.readouterr().err


def test_a_python_is_one_that_answers_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert portable.find_python("3.99") is None
    place = tmp_path / "versions" / f"{portable.running()}.0" / "bin" / f"python{portable.running()}"
    place.parent.mkdir(parents=True)
    place.symlink_to(sys.executable)
    assert portable.find_python(portable.running()) == place
    broken = tmp_path / "python3.99"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert portable.find_python("3.99") is None


def test_a_python_that_cannot_be_set_up_is_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(portable, "ROOT", tmp_path)
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).touch()
    monkeypatch.setattr(portable, "find_python", lambda version: Path("python"))
    monkeypatch.setattr(subprocess, "run", ran(1, []))
    assert not portable.green(Configuration("python 3.99", "", python="3.99"), [])
    assert "RED" in capsys.readouterr().out
    (tmp_path / ".venv-3.99").mkdir()  # as venv would
    monkeypatch.setattr(subprocess, "run", ran(0, asked := []))
    assert portable.green(Configuration("python 3.99", "", python="3.99"), [])
    assert portable.green(Configuration("python 3.99", "", python="3.99"), [])
    assert sum("venv" in one["command"] for one in asked) == 1  # made once


def test_ci_runs_the_arithmetic_once_more_as_a_plain_processor_does() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE" in text
    assert "make check\nmake test\n" in text
    rooms = text.partition("rooms=(")[2].partition(")")[0].split()
    assert rooms == ["attention", "models", "decoding", "lens"]
    assert all((ROOT / "tests" / "unit" / room).is_dir() for room in rooms)
