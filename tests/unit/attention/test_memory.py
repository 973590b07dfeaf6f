"""Memory that grows with N, not N x N, measured on fresh processes by the most they ever held."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# What every measured process starts with. VmHWM belongs to the process alone; ru_maxrss, for systems without /proc,
# would also count what its parent held while starting it.
PRELUDE = """
import json, resource, sys
from pathlib import Path

import torch
from regard.attention import attend, received, tile

def peak():
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

def numbers(*shape, **options):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), **options)

torch.set_num_threads(1)  # a second one only waits where the machine is busy
numbers(8, 8) @ numbers(8, 8)
before = peak()
{body}
print(json.dumps({{"before": before, "after": peak()}}))
"""

LONG = """
q, k, v = (numbers(1, 32768, 64) for _ in range(3))
output, statistics = attend(q, k, v, see="stats")
assert output.isfinite().all() and statistics.entropy.isfinite().all()
got = received(q, k, statistics.lse)
assert abs(got.sum() - 32768) < 1
for pool in ("mass", "max"):
    assert tile(q, k, statistics.lse, cell=128, pool=pool).shape == (1, 256, 256)
"""

HEADS = """
q, k, v = numbers(8, 8192, 64), numbers(8, 8192, 64), numbers(8, 8192, 32)
output = attend(q, k, v, causal=True)
seen, _ = attend(q, k, v, causal=True, see="stats")
torch.testing.assert_close(output, seen, atol=1e-4, rtol=1e-4)
"""

BACKWARD = """
q, k, v = (numbers(1, 8192, 64, requires_grad=True) for _ in range(3))
attend(q, k, v, softcap=5.0).sum().backward()
assert q.grad.isfinite().all() and k.grad.isfinite().all() and v.grad.isfinite().all()
"""

FUSED_BACKWARD = """
q, k, v = (numbers(1, 8192, 64, requires_grad=True) for _ in range(3))
attend(q, k, v, causal=True).sum().backward()
"""

WINDOW = """
q, k, v = (numbers(1, 16384, 16) for _ in range(3))
attend(q, k, v, window=(64, 64))
attend(q, k, v, causal=True, mask=torch.arange(16384) < 16000)
"""

EXPANDED_MASK = """
q, k, v = (numbers(1, 16384, 16) for _ in range(3))
attend(q, k, v, mask=(torch.arange(16384) < 16000).expand(1, 16384, 16384))
"""

DIM_FIRST = """
q, v = numbers(1, 8192, 64), numbers(1, 8192, 64)
attend(q, numbers(1, 64, 8192).mT, v)
"""

SECOND_PASSES = """
q, k = numbers(1, 8192, 64), numbers(1, 8192, 64)
received(q, k, causal=True, weigh=torch.ones(8192))
tile(q, k, rows=(4000, 8000), columns=(0, 8192), cell=(1000, 4096), pool="mean", causal=True)
"""


def peaks(body: str) -> dict[str, float]:
    """MB held at most before and after the body has run, in a process of its own."""
    environment = {**os.environ, "MALLOC_ARENA_MAX": "2"}
    finished = subprocess.run(
        [sys.executable, "-c", PRELUDE.format(body=body)], capture_output=True, text=True, check=False, env=environment
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_every_statistic_of_a_long_text_in_less_than_a_gigabyte() -> None:
    """32,768 x 32,768 weights would be 4 GB; the whole process, torch included, stays below one."""
    held = peaks(LONG)
    assert held["after"] < 1000
    assert held["after"] - held["before"] < 300


SHORTER = {
    "8 heads of 8,192, value dim != key dim, causal (dense: 2 GB)": (HEADS, 250),
    "backward with softcap at 8,192 (dense: 256 MB a map)": (BACKWARD, 150),
    "backward of SDPA at 8,192, causal (dense: 256 MB a map)": (FUSED_BACKWARD, 150),
    "windows and padding at 16,384 (a grid of booleans: 256 MB)": (WINDOW, 150),
    "an expanded mask at 16,384 (a grid of booleans: 256 MB)": (EXPANDED_MASK, 150),
    "keys stored dim first at 8,192 (dense: 256 MB)": (DIM_FIRST, 150),
    "second passes at 8,192 (dense: 256 MB)": (SECOND_PASSES, 150),
}


@pytest.mark.parametrize(("body", "megabytes"), SHORTER.values(), ids=SHORTER)
def test_memory_stays_far_from_the_dense_map(body: str, megabytes: int) -> None:
    held = peaks(body)
    assert held["after"] - held["before"] < megabytes
