"""How large the blocks of each kernel are: by dtype and by the head's dim, padded to a power of two.

Chosen from what the compiler says for compute capability 9.0: no spilled registers, and two programs to a
multiprocessor where they fit, so that one computes weights while the other multiplies matrices.
`python -m benchmarks.kernels --sweep` times the alternatives.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

from regard.attention.scores import Scores


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
CELLS = dict.fromkeys(TILES, LaunchConfig(64, 64, 4, 2))  # small cells: what is written counts, not what is multiplied
# float32 is multiplied exactly, without tensor cores, out of twice the memory.
SINGLE = {
    32: LaunchConfig(64, 32, 4, 2),
    64: LaunchConfig(64, 32, 4, 2),
    128: LaunchConfig(32, 32, 4, 2),
    256: LaunchConfig(16, 32, 4, 2),
}
SINGLE_COLUMNS = {
    32: LaunchConfig(32, 32, 4, 2),
    64: LaunchConfig(32, 32, 4, 2),
    128: LaunchConfig(16, 32, 4, 2),
    256: LaunchConfig(16, 16, 4, 2),
}
HALF_TABLES = {"rows": ROWS, "columns": COLUMNS, "tiles": TILES, "cells": CELLS}
SINGLE_TABLES = {"rows": SINGLE, "columns": SINGLE_COLUMNS, "tiles": SINGLE, "cells": SINGLE_COLUMNS}
ROOMY = ((8, 0), (9, 0), (10, 0))  # compute capabilities with more than 160 KiB of shared memory; others have 99


def launch_config(kernel: str, scores: Scores, width: int = 0) -> LaunchConfig:
    """For one of the tables' kernels, and a value's width where the kernel holds values too."""
    table = (SINGLE_TABLES if scores.dtype == torch.float32 else HALF_TABLES)[kernel]
    dim = max(scores.query_BJGQD.shape[-1], width)
    config = table[next(limit for limit in sorted(table) if dim <= limit)]
    added = [term for term in (*scores.terms, scores.rule.sight.mask) if term is not None]
    if added:  # which takes registers, so that half of them would not do
        config = config._replace(registers=None)
    if any(term.shape[-2] > 1 for term in added) or not roomy(scores.device):  # a grid takes the room of a stage
        config = config._replace(stages=min(config.stages, 2))
    return config


@cache
def roomy(device: torch.device) -> bool:
    return device.type != "cuda" or torch.cuda.get_device_capability(device) in ROOMY
