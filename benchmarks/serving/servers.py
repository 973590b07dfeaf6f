"""The server and its peers, each started in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import psutil

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
START = 120.0  # seconds that a server may take to begin
PEERS = Path(__file__).parent / "peers"
THREADS = 2  # cores that every server may use


@dataclass(frozen=True)
class ServerCommand:
    """How a server is started; `engine` and `quantization` where it is ours, to know what it should answer."""

    name: str
    command: list[str]
    engine: str | None = None
    quantization: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


class RunningServer(NamedTuple):
    """Where it answers, and its process."""

    port: int
    process: psutil.Process

    def cpu(self) -> float:
        """Seconds of processors that it has used."""
        used = self.process.cpu_times()
        return float(used.user + used.system)


def our_servers(model: str, options: Sequence[str] = ()) -> list[ServerCommand]:
    """`regard serve` by each engine."""
    serve = [sys.executable, "-m", "regard", "serve", model, "--port", "0", "--device", "cpu", *options]
    fast = [*serve, "--engine", "ctranslate2"]
    return [
        ServerCommand("regard serve --engine ctranslate2", fast, "ctranslate2"),
        ServerCommand(
            "regard serve --engine ctranslate2 --quantization int8", [*fast, "--quantization", "int8"],
            "ctranslate2", "int8",
        ),
        ServerCommand("regard serve", serve, "torch"),
    ]  # fmt: skip


def ctranslate2_servers(folder: Path) -> list[ServerCommand]:
    """CTranslate2 behind FastAPI: a text a call, and with a queue that puts texts together."""
    script = [sys.executable, str(PEERS / "ctranslate2_http.py"), str(folder)]
    return [
        ServerCommand("CTranslate2, a text a call", [*script, "--batch", "1"]),
        ServerCommand("CTranslate2, micro-batches", [*script, "--batch", "64"]),
        ServerCommand("CTranslate2, micro-batches, int8", [*script, "--batch", "64", "--type", "int8"]),
    ]


def argos_servers(folder: Path, python: str, languages: tuple[str, str]) -> list[ServerCommand]:
    """argostranslate in its own interpreter; by default it computes in 8 bits where the processor can."""
    script = [python, str(PEERS / "argos_http.py"), str(folder), *languages]
    threads = {"ARGOS_INTER_THREADS": str(THREADS), "ARGOS_INTRA_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return [
        ServerCommand(f"argostranslate, {kind}", script, environment={**threads, "ARGOS_COMPUTE_TYPE": kind})
        for kind in ("float32", "int8")
    ]


@contextmanager
def started(server: ServerCommand) -> Iterator[RunningServer]:
    """Until the block ends."""
    environment = {"OMP_NUM_THREADS": str(THREADS), **os.environ, **server.environment}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as output:
            process = subprocess.Popen(server.command, stdout=output, stderr=output, env=environment)
        try:
            yield RunningServer(port_of(process, log, server.name), psutil.Process(process.pid))
        finally:
            process.terminate()
            process.wait()


def port_of(process: subprocess.Popen[bytes], log: Path, name: str) -> int:
    """Once the server has written its address."""
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        if address := ADDRESS.search(log.read_text(errors="replace")):
            return int(address[1])
        time.sleep(0.05)
    raise SystemExit(f"{name} did not start:\n{log.read_text(errors='replace')[-2000:]}")


class MemoryWatch(threading.Thread):
    """What a process holds, twice a second, until it is stopped."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.process, self.sizes, self.ending = process, list[float](), threading.Event()

    def run(self) -> None:
        while not self.ending.wait(0.5):
            self.sizes.append(self.process.memory_info().rss)

    def stop(self) -> list[float]:
        self.ending.set()
        self.join()
        return self.sizes
