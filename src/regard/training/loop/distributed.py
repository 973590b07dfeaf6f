"""The processes that torchrun started. This is the one place that reads the environment."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from regard.errors import RegardError
from regard.training.optim.workers import SharedError, Workers

POLL = 0.02  # seconds between two looks at who is there
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
    store, rank, count = next(rendezvous("env://", timeout=PATIENCE))
    store = meet(store, rank, count)
    dist.init_process_group(
        "nccl" if own else "gloo", store=store, rank=rank, world_size=count, timeout=PATIENCE, device_id=own
    )
    try:
        yield Workers(rank, count)
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


def meet(store: Store, rank: int, count: int) -> Store:
    """A corner of torchrun's store for the processes of this start alone.

    The store outlives restarts, with the addresses of processes that were killed, and the agents of several machines
    count restarts each for itself. So every process shows a word of its own, and the first one's names the corner: the
    others believe it where it repeats their words, which nobody could before this start.
    """
    word, others = uuid.uuid4().hex, range(1, count)
    if rank:
        store.set(f"word/{rank}", word)
        while word not in (words := store.get("words").decode().split()):
            time.sleep(POLL)
        store.set(f"{words[0]}/{rank}", "here")
        return PrefixStore(words[0], store)
    while not store.check([f"{word}/{other}" for other in others]):
        known = [store.get(f"word/{other}").decode() for other in others if store.check([f"word/{other}"])]
        store.set("words", " ".join([word, *known]))
        time.sleep(POLL)
    return PrefixStore(word, store)


def is_lost(error: RuntimeError) -> bool:
    """NCCL's errors have a class; Gloo's name their file."""
    return isinstance(error, dist.DistError) or "gloo" in str(error).lower()
