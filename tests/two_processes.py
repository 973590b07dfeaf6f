"""One run in several processes, and what each of them did.

As a script, `torchrun -m tests.two_processes CORPUS FOLDER FAULT SETTINGS` is one of the processes. FAULT is empty,
"stop:5" for a signal at step 5, "kill:5" for a kill of the last process, once, at step 5, "scarce:1" where
memory runs out in the second process, or "blind:1" where it cannot open what the first one prepared. SETTINGS are JSON.
Each appends to FOLDER-RANK.jsonl what its dropout is about to draw and its losses, step by step, and how it ended.
Without torchrun, `python -m tests.two_processes` imports everything once and then forks processes again and again, as
many as its input asks for.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import torch

from regard.errors import RegardError
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.data.task_batches import TaskBatch
from regard.training.loop import loop
from regard.training.loop.loop import TrainingLoop
from regard.training.optim.gradients import Gradients
from regard.training.report.events import Event, Stepped
from tests.threads import THREADS
from tests.training_cases import RANDOM, TINY, go

ROOT = Path(__file__).parents[1]
SECONDS = 100  # after which a run that has not ended never will
Notes = list[list[dict[str, Any]]]  # of each process, by rank


def under_torchrun(corpus: Path, folder: Path, fault: str = "", nodes: int = 1) -> Notes:
    """Train in two processes, on one machine or on what take each other for two; what each of them wrote down."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(2 // nodes), "--max-restarts=1"]
    command += ["--nnodes", str(nodes), "--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{free_port()}"]
    command += ["-m", "tests.two_processes", str(corpus), str(folder), fault]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    agents = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(nodes)]
    try:
        ends = [agent.communicate(timeout=SECONDS)[0] for agent in agents]
    finally:
        for agent in agents:  # which ends its processes, where they have not ended
            agent.terminate()
            agent.wait()
    assert [agent.returncode for agent in agents] == [0] * nodes, "\n".join(ends)
    return notes_of(folder, 2)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def notes_of(folder: Path, processes: int) -> Notes:
    notes = [folder.with_name(f"{folder.name}-{rank}.jsonl") for rank in range(processes)]
    return [[json.loads(line) for line in note.read_text(encoding="utf-8").splitlines()] for note in notes]


class Launcher:
    """Does what torchrun does, without importing PyTorch again for every process of every run."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.two_processes"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.server = subprocess.Popen(command, cwd=ROOT, **pipes)  # type: ignore[call-overload]

    def __call__(
        self, corpus: Path, folder: Path, fault: str = "", processes: int = 2, how: dict[str, Any] = RANDOM
    ) -> Notes:
        """Train."""
        self.call("tests.two_processes:main", processes, str(corpus), str(folder), fault, json.dumps(how))
        return notes_of(folder, processes)

    def call(self, function: str, processes: int, *arguments: str) -> None:
        """Call "module:function" in several processes, none of which may raise anything."""
        self.server.stdin.write(json.dumps([function, processes, arguments]) + "\n")
        self.server.stdin.flush()
        assert self.server.stdout.readline() == "done\n"

    def close(self) -> None:
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait()


def serve() -> None:
    """Run after run; this process itself never computes anything, so that it can be forked."""
    for line in sys.stdin:
        function, processes, arguments = json.loads(line)
        port = free_port()
        children = [fork(rank, processes, port, function, arguments) for rank in range(processes)]
        sys.stdout.write("done\n" if all_ended(children) else "failed\n")
        sys.stdout.flush()


def fork(rank: int, count: int, port: int, function: str, arguments: list[str]) -> int:
    """One process, with the environment that torchrun would give it."""
    child = os.fork()
    if child:
        return child
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), **address})
    try:
        module, _, name = function.partition(":")
        torch.set_num_threads(THREADS)
        getattr(importlib.import_module(module), name)(*arguments)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def all_ended(children: list[int]) -> bool:
    """Whether every process ended well, in time."""
    end, statuses = time.monotonic() + SECONDS, dict.fromkeys(children, -1)
    while -1 in statuses.values() and time.monotonic() < end:
        for child in [child for child, status in statuses.items() if status == -1]:
            ended, status = os.waitpid(child, os.WNOHANG)
            statuses[child] = os.waitstatus_to_exitcode(status) if ended else -1
        time.sleep(0.01)
    for child in [child for child, status in statuses.items() if status == -1]:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return set(statuses.values()) == {0}


def next_draws() -> list[float]:
    """What dropout will draw next, without drawing it."""
    generator = torch.Generator()
    generator.set_state(torch.get_rng_state())
    return torch.rand(4, generator=generator).tolist()


def main(corpus: str, folder: str, fault: str, how: str = json.dumps(RANDOM)) -> bool:
    """One of the processes; whether it ended well."""
    rank = int(os.environ["RANK"])
    kind, _, number = fault.partition(":")
    last, killed = rank == int(os.environ["WORLD_SIZE"]) - 1, Path(f"{folder}-killed")
    plain_step, plain_open, plain_one = TrainingLoop.step, Preparation.open, Gradients.one

    def note(**what: Any) -> None:
        with Path(f"{folder}-{rank}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")

    def step(training: TrainingLoop, batch: TaskBatch) -> torch.Tensor:
        number_now = training.position.step + 1
        if kind == "kill" and last and number_now == int(number) and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        draws = next_draws()
        loss = plain_step(training, batch)
        note(step=number_now, draws=draws, loss=float(loss), parts=training.update.gradients.parts)
        return loss

    def scarce(gradients: Gradients, tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        if kind == "scarce" and rank == int(number) and gradients.parts == 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return plain_one(gradients, tensors)

    def open_(preparation: Preparation) -> PreparedText:
        if kind == "blind" and rank == int(number):
            raise FileNotFoundError("no such file here: meta.json")
        return plain_open(preparation)

    def listener(event: Event) -> None:
        if kind == "stop" and isinstance(event, Stepped) and event.step == int(number):
            signal.raise_signal(signal.SIGTERM)

    TrainingLoop.step, Preparation.open, Gradients.one = step, open_, scarce  # type: ignore[method-assign]
    try:
        note(status=go(Path(corpus), Path(folder), TINY, json.loads(how), listener=listener).status)
    except RegardError as error:
        note(status="failed", error=str(error))
        return False
    return True


if __name__ == "__main__":
    loop.REPORT_EVERY = 0.0
    if len(sys.argv) > 1:
        sys.exit(0 if main(*sys.argv[1:]) else 2)
    else:
        for module in ("torch.distributed.fsdp", "torch.distributed.tensor", "tests.engine_cases"):
            importlib.import_module(module)
        torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])  # imports a lot, once for all children
        serve()
