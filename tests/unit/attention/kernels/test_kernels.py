"""The kernels without a GPU: what they mean, through Triton's interpreter; that they compile; who chooses them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.attention import attend, received, tile
from regard.attention.kernels import choose, launches, trial
from tests.attention_cases import make

ROOT = Path(__file__).resolve().parents[4]
HERE = Path(__file__).parent


def run(*command: str) -> str:
    """Python in a process of its own, where Triton is imported as the command wants it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("which", ["every_field", "not every_field"])
def test_what_the_kernels_compute(which: str) -> None:
    """Hundreds of cases, in two processes: see `interpreted.py`."""
    output = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "interpreted.py"), "-k", which)
    assert " passed" in output or "100%" in output
    assert "skipped" not in output


@pytest.mark.parametrize("capability", ["90", "80"])
def test_every_kernel_compiles_and_keeps_its_numbers_in_registers(capability: str) -> None:
    reports: list[dict[str, Any]] = json.loads(run("-m", "tests.unit.attention.kernels.offline", capability))
    assert {report["kernel"] for report in reports} == {"row_pass", "column_pass", "tile_pass"}
    for report in reports:
        halves = report["dtype"] != "torch.float32"
        assert report["shared"] <= 160 * 1024, report
        if capability == "90":
            assert not report["spills"], report
            assert not halves or "wgmma" in report["instructions"], "the fast matrix product of this device"
            assert "cp.async" in report["instructions"] or not halves, "what comes next is loaded ahead"


def test_nothing_imports_triton_before_a_kernel_serves() -> None:
    lines = [
        "import sys, torch, regard",
        "query = torch.randn(1, 2, 8, 4)",
        "_, statistics = regard.attend(query, query, query, causal=True, see='stats')",
        "regard.received(query, query, statistics.lse, causal=True), regard.tile(query, query, causal=True)",
        "assert 'triton' not in sys.modules",
    ]
    run("-c", "\n".join(lines))


# ---- who chooses them, and what happens when they fail ---------------------------------------------------------------


@pytest.fixture
def on_cpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As if kernels served this device, and every launch failed: the kernels that were asked for."""
    asked: list[str] = []

    def fail(kernel: Any, *rest: Any) -> None:
        asked.append(kernel.__name__)
        raise RuntimeError("no such device")

    monkeypatch.setattr(choose, "DEVICES", {"cpu"})
    monkeypatch.setattr(trial, "VERDICTS", {})
    monkeypatch.setattr(launches, "launch", fail)
    return asked


def test_a_kernel_that_fails_is_replaced_and_it_is_said_once(on_cpu: list[str]) -> None:
    case = make("fails", causal=True).to(torch.bfloat16)
    arguments = case.query, case.key
    with pytest.warns(RuntimeWarning, match=r"not used on cpu for torch.bfloat16.*no such device.*Everything works"):
        output, statistics = attend(*arguments, case.value, causal=True, see="stats")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again, _ = attend(*arguments, case.value, causal=True, see="stats")
        columns, weights = received(*arguments, causal=True), tile(*arguments, statistics.lse, causal=True)
    assert on_cpu == ["row_pass"]
    assert torch.equal(output, again)
    torch.testing.assert_close(columns, weights.sum(-2))


def test_a_kernel_that_is_wrong_is_replaced(on_cpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launches, "launch", lambda *rest: None)  # which leaves what memory held before
    torch.use_deterministic_algorithms(True)  # NaN, then
    try:
        case = make("wrong").to(torch.float32)
        with pytest.warns(RuntimeWarning, match=r"output, lse, .*received, tile not as expected"):
            output, _ = attend(case.query, case.key, case.value, see="stats")
    finally:
        torch.use_deterministic_algorithms(False)
    torch.testing.assert_close(output, attend(case.query, case.key, case.value))


def test_a_failure_after_the_trial_is_no_worse(on_cpu: list[str]) -> None:
    case = make("later").to(torch.float32)
    plain = trial.Traits(right=False, causal=False)
    trial.VERDICTS[trial.Kind(torch.device("cpu"), torch.float32, 16, plain)] = True
    with pytest.warns(RuntimeWarning, match="no such device"):
        columns = received(case.query, case.key)
    torch.testing.assert_close(columns, tile(case.query, case.key).sum(-2))


def test_memory_that_runs_out_is_no_fault_of_the_kernels(on_cpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*rest: Any) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(launches, "launch", full)
    case = make("full").to(torch.float32)
    with pytest.raises(torch.OutOfMemoryError):
        attend(case.query, case.key, case.value, see="stats")
    assert trial.VERDICTS == {}


def test_without_triton_all_of_it_works(on_cpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "found_triton", lambda: False)
    case = make("none").to(torch.float32)
    attend(case.query, case.key, case.value, see="stats")
    received(case.query, case.key)
    assert on_cpu == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dim", [32, 64, 128, 256])
@pytest.mark.parametrize("dtype", choose.DTYPES, ids=str)
def test_the_trial_on_a_gpu(dtype: torch.dtype, dim: int) -> None:
    """The contract's cases on CUDA come through the kernels; here each dim's blocks are those that users get."""
    assert trial.disagreement(trial.Kind(torch.device("cuda", torch.cuda.current_device()), dtype, dim)) == ""
