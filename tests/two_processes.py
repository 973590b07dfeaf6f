"""One run in two processes, as torchrun starts them, and what each of them did.

As a script, `torchrun -m tests.two_processes CORPUS FOLDER FAULT` is one of the processes. FAULT is empty, "stop:5" for
a signal at step 5, or "blind:1" where the second process cannot open what the first one prepared. Each appends to
FOLDER-RANK.jsonl what its dropout is about to draw, step by step, and how it ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from regard.errors import RegardError
from regard.training.data.prepare import Preparation
from regard.training.data.prepared_text import PreparedText
from regard.training.data.task_batches import TaskBatch
from regard.training.loop.loop import TrainingLoop
from regard.training.report.events import Event, Stepped
from tests.training_cases import CHANCE, TINY, go

ROOT = Path(__file__).parents[1]


def together(corpus: Path, folder: Path, fault: str = "", processes: int = 2) -> list[list[dict[str, Any]]]:
    """Train in several processes; what each of them wrote down."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command += ["-m", "tests.two_processes", str(corpus), str(folder), fault]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    notes = [folder.with_name(f"{folder.name}-{rank}.jsonl") for rank in range(processes)]
    return [[json.loads(line) for line in note.read_text(encoding="utf-8").splitlines()] for note in notes]


def next_draws() -> list[float]:
    """What dropout will draw next, without drawing it."""
    generator = torch.Generator()
    generator.set_state(torch.get_rng_state())
    return torch.rand(4, generator=generator).tolist()


def main(corpus: str, folder: str, fault: str) -> None:
    rank = int(os.environ["RANK"])
    kind, _, number = fault.partition(":")
    plain_step, plain_open = TrainingLoop.step, Preparation.open

    def note(**what: Any) -> None:
        with Path(f"{folder}-{rank}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(what) + "\n")

    def step(training: TrainingLoop, batch: TaskBatch) -> torch.Tensor:
        note(step=training.position.step + 1, draws=next_draws())
        return plain_step(training, batch)

    def open_(preparation: Preparation) -> PreparedText:
        if kind == "blind" and rank == int(number):
            raise FileNotFoundError("no such file here: meta.json")
        return plain_open(preparation)

    def listener(event: Event) -> None:
        if kind == "stop" and isinstance(event, Stepped) and event.step == int(number):
            signal.raise_signal(signal.SIGTERM)

    TrainingLoop.step, Preparation.open = step, open_  # type: ignore[method-assign]
    try:
        note(status=go(Path(corpus), Path(folder), TINY, CHANCE, listener=listener).status)
    except RegardError as error:
        note(status="failed", error=str(error))


if __name__ == "__main__":
    from regard.training.loop import loop

    loop.REPORT_EVERY = 0.0
    main(*sys.argv[1:])
