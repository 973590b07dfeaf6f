"""How large the blocks of each kernel are: by dtype and by the head's dim, padded to a power of two.

Chosen from what the compiler says for compute capability 9.0: no spilled registers, and two programs to a
multiprocessor where they fit, so that one computes weights while the other multiplies matrices.
`python -m benchmarks.kernels --sweep` times the alternatives.
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class LaunchConfig(NamedTuple):
    """Rows (queries) and columns (keys) of a block, and what the compiler is given."""

    block_m: int
    block_n: int
    warps: int
    stages: int
    registers: int | None = None  # at most so many a thread: 128 lets two programs of 8 warps share a multiprocessor


ROWS = {
    32: LaunchConfig(128, 64, 8, 3, 128),
    64: LaunchConfig(128, 64, 8, 3, 128),
    128: LaunchConfig(128, 64, 8, 3),
    256: LaunchConfig(64, 64, 8, 2),
}
COLUMNS = {
    32: LaunchConfig(64, 128, 8, 3, 128),
    64: LaunchConfig(64, 128, 8, 3, 128),
    128: LaunchConfig(64, 128, 8, 3, 128),
    256: LaunchConfig(64, 64, 8, 2),
}
TILES = {
    32: LaunchConfig(128, 128, 8, 3),
    64: LaunchConfig(128, 128, 8, 3),
    128: LaunchConfig(128, 128, 8, 2),
    256: LaunchConfig(64, 64, 8, 2),
}
# float32 is multiplied exactly, without tensor cores, out of twice the memory.
SINGLE = {
    32: LaunchConfig(64, 32, 4, 2),
    64: LaunchConfig(64, 32, 4, 2),
    128: LaunchConfig(32, 32, 4, 2),
    256: LaunchConfig(16, 32, 4, 2),
}
TABLES = {"rows": ROWS, "columns": COLUMNS, "tiles": TILES}


def launch_config(kernel: str, dtype: torch.dtype, dim: int) -> LaunchConfig:
    """For one of `TABLES` and the largest dim, key's or value's, that the kernel holds."""
    table = SINGLE if dtype == torch.float32 else TABLES[kernel]
    return table[next(limit for limit in sorted(table) if dim <= limit)]
