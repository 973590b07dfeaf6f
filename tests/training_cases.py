"""Small training runs, quick and complete: numbers in English and French, and what a run leaves behind.

As a script, `python -m tests.training_cases CORPUS FOLDER SEED` trains while being killed again and again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tomli_w
import torch

from regard.training import Outcome, train
from regard.training.loop.checkpoint_files import checkpoints
from regard.training.report.events import Event, Listener, Note, silent
from tests.threads import THREADS

ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
FRENCH = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"]

TINY = {
    "tokenizer.vocabulary": 300,
    "model.dim": 16, "model.heads": 2, "model.feedforward": 32, "model.encoder_layers": 1, "model.decoder_layers": 1,
    "data.held": 8,
    "training.steps": 10, "training.batch_tokens": 256, "training.warmup": 2,
    "training.validate_every": 4, "training.checkpoint_every": 3,
    "decoding.beams": 1,
}  # fmt: skip
RANDOM = {
    "model.dropout": 0.2, "model.attention_dropout": 0.1, "training.subword_dropout": 0.3, "training.average": "moving",
}  # fmt: skip
STACK = {key: value for key, value in TINY.items() if not key.startswith("model.")}
STACK |= {"model.dim": 16, "model.heads": 2, "model.feedforward": 32, "model.layers": 1}


class Stop(Exception):
    """What a listener raises to end a run."""


def numbers(count: int, seed: int = 0, longest: int = 5) -> list[tuple[str, str]]:
    """Different numbers, word by word, in both languages."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        digits = [chance.randrange(10) for _ in range(chance.randint(1, longest))]
        found[" ".join(ENGLISH[n] for n in digits)] = " ".join(FRENCH[n] for n in digits)
    return list(found.items())


def write_rows(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """A file with a row a line, tabs between its fields."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def settings(*parts: dict[str, Any], **more: Any) -> list[str]:
    """Settings as --set takes them; those given last win."""
    merged: dict[str, Any] = {}
    for part in (*parts, more):
        merged |= part
    tables = {key: value for key, value in merged.items() if isinstance(value, dict)}
    inner = {f"{key}.{name}": one for key, value in tables.items() for name, one in value.items()}
    return [setting(key, value) for key, value in (merged | inner).items() if key not in tables]


def setting(key: str, value: Any) -> str:
    """One setting, its value as TOML writes it."""
    return f"{key}={tomli_w.dumps({'value': value}).removeprefix('value = ').strip()}"


def go(corpus: Path | str, folder: Path, *parts: dict[str, Any], listener: Listener = silent, **more: Any) -> Outcome:
    """Train on few threads, with the settings of `TINY` where no others are given."""
    parts = parts or (TINY,)
    how: dict[str, Any] = {"settings": settings(*parts), "device": "cpu", "threads": THREADS, "listener": listener}
    return train(str(corpus), folder, **how, **more)


class EventRecorder:
    """A listener that remembers, and stops the run at the first event that it is told to stop at."""

    def __init__(self, stop: Callable[[Event], bool] = lambda event: False) -> None:
        self.events: list[Event] = []
        self.stop = stop

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if self.stop(event):
            raise Stop

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note))

    @property
    def warnings(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note) and event.warning)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def left_by(folder: Path) -> dict[str, Any]:
    """All that a finished run leaves and that must not depend on how often it was interrupted."""
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    last = checkpoints(folder / "checkpoints")[0]
    position = json.loads((last / "state.json").read_text(encoding="utf-8"))
    return {
        "status": run["status"], "step": run["step"], "why": run["why"], "scores": run["scores"],
        "threads": run["threads"], "checkpoint": last.name,
        "position": {name: position[name] for name in ("step", "epoch", "batch", "best", "best_step", "waited")},
        **{name: (folder / name).read_bytes() for name in ("model.safetensors", "config.json", "tokenizer.json")},
        "state": (last / "state.safetensors").read_bytes(),
    }  # fmt: skip


def same(first: Path, second: Path) -> None:
    """Both folders hold the same run, bit by bit."""
    left, right = left_by(first), left_by(second)
    assert [name for name in left if left[name] != right[name]] == []


def killed_again_and_again(corpus: Path, folder: Path, seed: int, times: int = 8) -> int:
    """Start the run in a child, kill it after a random while, and so on until it ends; how often it was killed."""
    chance = random.Random(seed)
    for number in range(times + 1):
        child = os.fork()
        if child == 0:
            go(corpus, folder, TINY, RANDOM, listener=lambda event: time.sleep(0.004))
            os._exit(0)
        if number < times:
            time.sleep(chance.uniform(0.1, 0.6))
            os.kill(child, signal.SIGKILL)
        if os.WIFEXITED(os.waitpid(child, 0)[1]):
            return number
    raise AssertionError("it did not end")


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))])  # imports a lot, once for all children
    sys.stdout.write(str(killed_again_and_again(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
