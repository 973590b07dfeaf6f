"""Many workers, on this machine or a cluster: Ray Data hands out chunks, and starts a worker anew that has died.

A chunk that was under way is then given out again. Its file is written in one move, so that a chunk is never there
twice or in part, however often it was tried.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from regard.errors import FileError, InputError, RegardError
from regard.tasks.bulk.chunk_worker import ChunkResult, ChunkWorker, WorkerOptions

STORE = 128 << 20  # bytes shared by the processes of this machine: numbers of chunks go through it, and no text
ANSWER = 10.0  # seconds for a cluster to say that it is there
SEARCH = 90.0  # seconds until a cluster that Ray looks for by itself must be found
TRIAL = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level='ERROR')"
QUIET = ("ray", "ray.data", "ray.data._internal")
SETTINGS = {  # what the processes that are started here inherit: there are no arguments for these
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # else every actor that may be started anew is an error in red
}


class RayChunkWorker:
    """A worker as Ray calls it: with rows of a dataset. What is missing on its machine is said with its first chunk."""

    def __init__(self, options: WorkerOptions) -> None:
        self.worker = ChunkWorker(options)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        result = self.worker(int(row["number"]))
        return {**result._asdict(), "error": None if result.error is None else list(result.error)}


def translate_with_ray(
    options: WorkerOptions, numbers: Sequence[int], workers: int, cluster: str | None = None
) -> Iterator[ChunkResult]:
    """The results of chunks, as they come. `cluster` is the address of one that runs, else one is started here."""
    with ray_session(cluster) as ray:
        workers = min(workers, len(numbers))
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        cpus = share([machine.get("CPU", 0.0) for machine in machines], workers)
        gpus = 0.0
        if options.device in ("auto", "cuda"):
            gpus = share([machine.get("GPU", 0.0) for machine in machines], workers, most=1.0)
        options = replace(options, threads=max(int(cpus), 1))
        rows = ray.data.from_items([{"number": number} for number in numbers], override_num_blocks=len(numbers))
        results = rows.map(
            RayChunkWorker,
            fn_constructor_args=(options,),
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_cpus=cpus,
            num_gpus=gpus or None,
        )
        try:
            for row in results.iter_rows():
                error = row["error"]
                yield ChunkResult(row["number"], row["lines"], None if error is None else tuple(error))
        except ray.exceptions.RayError as error:
            raise worker_error(error) from error


def worker_error(error: Exception) -> RegardError:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    last = lines[-1].strip() if lines else type(error).__name__
    return InputError("a worker failed", found=last[:300], do="mend that; the same command goes on with what is left")


def share(amounts: Sequence[float], workers: int, most: float = math.inf) -> float:
    """How much of a resource each worker may have so that all find room on these machines; 0 where there is none.

    Whole numbers while there is one for each worker: no worker is spread over two machines.
    """
    total = sum(amounts)
    for whole in range(int(min(total // workers, most)), 0, -1):
        if sum(amount // whole for amount in amounts) >= workers:
            return float(whole)
    per_unit = math.ceil(workers / max(sum(map(int, amounts)), 1))  # workers that share one
    return math.floor(1e4 / per_unit) / 1e4 if total >= 1 else 0.0


@contextmanager
def ray_session(cluster: str | None) -> Iterator[Any]:
    """Ray with nothing but its work: no dashboard, no reports to its makers, no words of its own but errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about its own settings
        ray = import_ray()
        for name in QUIET:
            logging.getLogger(name).setLevel(logging.ERROR)
        own = not ray.is_initialized()  # a notebook may have begun with it before
        if own:
            start(ray, cluster)
        ray.data.DataContext.get_current().enable_progress_bars = False
        try:
            yield ray
        finally:
            if own:
                ray.shutdown()


def import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise FileError(
            "several workers need the library ray",
            found=str(error),
            do='pip install "regard[ray]", or --workers 1 without --cluster',
        ) from error
    return ray


@contextmanager
def environment(settings: dict[str, str]) -> Iterator[None]:
    """Settings that new processes see, for the length of a with block."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def start(ray: Any, cluster: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if cluster is None:
        with environment(SETTINGS):
            ray.init(include_dashboard=False, object_store_memory=STORE, **quiet)
        return
    try:
        knock(cluster)
        ray.init(address=cluster, **quiet)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        advice = "see that it runs (ray status), or leave out --cluster to start workers on this machine"
        raise InputError(
            f"there is no Ray cluster at {cluster}", found=str(error).splitlines()[0][:200], do=advice
        ) from error


def knock(cluster: str) -> None:
    """Raise OSError where nobody answers: Ray itself would go on asking for many minutes, or end this process."""
    host, _, port = cluster.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER).close()
        return
    # Ray looks for one by itself, and the traces of one that was killed end the process that follows them.
    try:
        trial = subprocess.run([sys.executable, "-c", TRIAL, cluster], capture_output=True, text=True, timeout=SEARCH)
    except subprocess.TimeoutExpired as late:
        raise ConnectionError(f"no answer within {SEARCH:.0f} s") from late
    if trial.returncode:
        raise ConnectionError((trial.stderr.strip() or "Ray ended without a word").splitlines()[-1])
