"""The processes that torchrun started. This is the one place that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist

from regard.training.optim.workers import Workers


@contextmanager
def process_group(device: torch.device) -> Iterator[Workers]:
    """The processes that torchrun started; alone, just this one."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Workers()
        return
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Workers(dist.get_rank(), count)
    finally:
        dist.destroy_process_group()
