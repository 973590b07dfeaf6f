"""What a computation costs in energy, where the machine tells: NVIDIA's GPUs and many CPUs count their joules."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path

from regard.claims.lab.timing import synchronize

COUNTERS = Path("/sys/class/powercap")  # Linux: one folder for each package of cores
LEAST_SECONDS = 1.0  # counters are brought up to date only some times a second


def joules_of(run: Callable[[], object], device: str) -> float | None:
    """Of one run, the machine's rest included; None where nothing counts it."""
    before, begun, runs = joules(device), time.perf_counter(), 0
    if before is None:
        return None
    while time.perf_counter() - begun < LEAST_SECONDS:
        run()
        synchronize(device)
        runs += 1
    after = joules(device)
    return None if after is None or after <= before else (after - before) / runs


def joules(device: str) -> float | None:
    """Counted since some time or other."""
    return gpu_joules() if device.startswith("cuda") else cpu_joules()


def cpu_joules() -> float | None:
    """Of all packages together; often only the administrator may read them, and virtual machines have none."""
    try:
        counts = [int(file.read_text()) for file in COUNTERS.glob("intel-rapl:?/energy_uj")]
    except (OSError, ValueError):
        return None
    return sum(counts) / 1e6 if counts else None


def gpu_joules(index: int = 0) -> float | None:
    """By NVIDIA's management library, of the first GPU."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    handle, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
    failed = (
        library.nvmlInit_v2()
        or library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        or library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules))
    )
    return None if failed else millijoules.value / 1e3
