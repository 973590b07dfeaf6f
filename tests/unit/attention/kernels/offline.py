"""Kernels compiled for a GPU that is not there: prints, as JSON, what the compiler says of each.

Run in a process of its own, since Triton has one device for a process: `python -m tests.unit.attention.kernels.offline`
followed by the compute capability.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from regard.attention.inputs import read_scores
from regard.attention.kernels import launches
from regard.attention.kernels.operands import Side
from regard.attention.scores import LogSum, Scores

DUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
LENGTH = 4096


class AbsentDevice:
    """As much of a driver as compiling asks for."""

    def __init__(self, capability: int) -> None:
        self.target = GPUTarget("cuda", capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def compiled(kernel: Any, blocks: int, scores: Scores, given: Any, flags: Any, config: Any) -> None:
    """In the place of `launches.launch`: everything but the launch."""
    limit = {} if config.registers is None else {"maxnreg": config.registers}
    binary = kernel.run(launches.operands_of(scores), *given, FLAGS=flags, num_warps=config.warps,
                        num_stages=config.stages, grid=(1,), warmup=True, **limit)  # fmt: skip
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(binary.asm["cubin"])
        usage = subprocess.run([DUMP, "--dump-resource-usage", file.name], capture_output=True, text=True, check=True)
    registers, stack = map(int, re.search(r"REG:(\d+) STACK:(\d+)", usage.stdout).groups())
    said = {"registers": registers, "spills": stack, "shared": binary.metadata.shared}
    instructions = set(re.findall(r"wgmma|mma\.sync|cp\.async", binary.asm["ptx"]))
    REPORTS.append({"kernel": kernel.__name__, **said, "instructions": sorted(instructions)})


REPORTS: list[dict[str, Any]] = []


def problems(capability: int) -> Iterator[tuple[torch.dtype, int, dict[str, Any]]]:
    """The ordinary ones; and, but for the newest capability, no more than one of each kind."""
    yield torch.bfloat16, 64, {"causal": True}
    yield torch.float32, 128, {"causal": True}
    if capability == 90:
        yield torch.bfloat16, 128, {"causal": True}
        yield torch.float32, 64, {"causal": True}
        yield torch.bfloat16, 64, {}
        yield torch.bfloat16, 128, {}


def main(capability: int) -> None:
    driver.set_active(AbsentDevice(capability))
    launches.launch = compiled
    for dtype, dim, options in problems(capability):
        query, key = torch.empty(1, 4, LENGTH, dim, dtype=dtype), torch.empty(1, 2, LENGTH, dim, dtype=dtype)
        scores = read_scores(query, key, options)
        before = len(REPORTS)
        launches.rows_with_statistics(scores, key)
        if options:
            sums = LogSum(*(torch.empty(scores.query_BJGQD.shape[:-1]) for _ in range(2)))
            launches.columns_received(scores, sums, None)
            side = Side(0, LENGTH, LENGTH // 32, 32)
            launches.tile_pooled(scores, sums, side, side, "mass", None)
        for report in REPORTS[before:]:
            report.update(dtype=str(dtype), dim=dim, options=list(options))
    print(json.dumps(REPORTS))  # noqa: T201 - for the test that runs this


if __name__ == "__main__":
    main(int(sys.argv[1]))
