"""Blocks of rows side by side on a CPU: one thread for each, which waits for the others only at the end.

Left to itself PyTorch splits every single operation among its threads and lets them wait for each other after each. A
pass over blocks that fit a cache waits so thousands of times a second, and where another program holds one of the
cores each wait lasts until the scheduler comes round: the same pass then takes many times as long. So each thread
here works through whole blocks of rows, and splits nothing within them. What a block gives hangs on nothing but the
block: the same bits come of any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import torch

Job = TypeVar("Job")
Result = TypeVar("Result")
WORTHWHILE = 1 << 20  # cells of queries x keys: some milliseconds of work, beside which starting threads is nothing


def in_threads(
    work: Callable[[Job], Result], jobs: Sequence[Job], device: torch.device, cells: int
) -> Iterator[Result]:
    """What `work` gives for each job, in their order; as many at a time as PyTorch has threads.

    The longest job comes first, since nobody helps with the last: of causal rows the last ones, which see most.
    `cells` is how many scores they compute in all: for a few no thread is started, nor where the device is no CPU.
    """
    alone = device.type != "cpu" or cells < WORTHWHILE or torch.compiler.is_compiling()
    threads = 1 if alone else min(torch.get_num_threads(), len(jobs))
    if threads < 2:
        yield from map(work, jobs)
        return
    inference = torch.is_inference_mode_enabled()

    def run(job: Job) -> Result:
        with torch.inference_mode(inference), torch.no_grad():  # which a new thread does not take over
            return work(job)

    yield from single_threads(threads, run, jobs)


def single_threads(threads: int, run: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterator[Result]:
    """So many threads in each of which PyTorch has one alone; in all others it has as many as before."""
    usual, ready = torch.get_num_threads(), Barrier(threads + 1)

    def begin() -> None:
        torch.get_num_threads()  # the first time a thread asks, the number is set to that of the process: not later
        ready.wait()  # all are there: what follows takes no longer than it must
        torch.set_num_threads(1)  # of this thread, but also of any that asks first before `usual` is set again
        ready.wait()
        ready.wait()  # no job begins before that: it may start threads itself

    with ThreadPoolExecutor(threads, initializer=begin) as pool:
        try:
            results = pool.map(run, jobs)
            try:
                ready.wait()
                ready.wait()
            finally:
                torch.set_num_threads(usual)
            ready.wait()
        except BaseException:
            ready.abort()  # had one not started, the others would wait for it
            raise
        yield from results
