"""The events of a run, written down as they come."""

from __future__ import annotations

import json
import math
from pathlib import Path

from regard.errors import FileError
from regard.training.report.events import Event, Listener, Stepped

LOGGED = 1000  # steps, about


def passed_over(event: Stepped) -> bool:
    return bool(event.step % max(event.steps // LOGGED, 1)) and event.step != event.steps


class LogWriter:
    """A listener that writes log.jsonl as it goes and passes everything on; of the steps about a thousand are kept."""

    def __init__(self, folder: Path, listener: Listener) -> None:
        self.path, self.listener = folder / "log.jsonl", listener

    def __call__(self, event: Event) -> None:
        if event.logged and not (isinstance(event, Stepped) and passed_over(event)):
            self.append(event)
        self.listener(event)

    def append(self, event: Event) -> None:
        row = {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in event.row().items()
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        except OSError as error:
            raise FileError(
                f"cannot write {self.path}", found=str(error), do="make room, then give the same command again"
            ) from error
