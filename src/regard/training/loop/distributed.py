"""The processes that torchrun started. This is the one place that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist

from regard.errors import RegardError
from regard.training.optim.workers import SharedError, Workers

PATIENCE = timedelta(hours=6)  # for the first process, which alone prepares text and validates


def first_process() -> bool:
    """Whether this process speaks and writes for all; one alone always does."""
    return os.environ.get("RANK", "0") == "0" or int(os.environ.get("WORLD_SIZE", "1")) == 1


@contextmanager
def process_group(device: torch.device) -> Iterator[Workers]:
    """The processes that torchrun started, on any number of machines; alone, just this one."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Workers()
        return
    own = None
    if device.type == "cuda":  # RANK counts over all machines, LOCAL_RANK on this one, as its devices do
        own = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(own)
    dist.init_process_group("nccl" if own else "gloo", timeout=PATIENCE, device_id=own)
    try:
        yield Workers(dist.get_rank(), count)
    except RegardError:  # most of them are those of all processes, which end alike
        dist.destroy_process_group()
        raise
    except RuntimeError as error:  # the others may be gone, or wait for us: there is nobody to part from
        if is_lost(error):
            raise SharedError(
                "another process of this run has ended",
                found=str(error).split("\n")[0],
                do="see what it said above; the same command goes on from the last checkpoint, and torchrun "
                "--max-restarts 3 gives it by itself",
            ) from error
        raise
    dist.destroy_process_group()


def is_lost(error: RuntimeError) -> bool:
    """NCCL's errors have a class; Gloo's name their file."""
    return isinstance(error, dist.DistError) or "gloo" in str(error).lower()
