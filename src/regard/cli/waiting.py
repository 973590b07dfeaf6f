"""Work that may take a while: a bar on standard error, if someone watches and it takes more than a moment."""

from __future__ import annotations

from threading import Timer
from time import monotonic

PATIENCE = 2.0  # seconds before progress is shown


class ProgressBar:
    """For the length of a with block; called with (done, total) it shows how far the work is and what is left."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> ProgressBar:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self.start = monotonic()
        self.bar = Bar(console=Console(stderr=True), transient=True)
        self.line = self.bar.add_task(self.what, total=None)
        self.timer = Timer(max(PATIENCE, 0.0), self.bar.start)  # some work is one long step
        self.timer.daemon = True
        if self.bar.console.is_terminal:
            self.timer.start()
        return self

    def __call__(self, done: int, total: int) -> None:
        self.bar.update(self.line, completed=done, total=total)
        if self.bar.console.is_terminal and not self.bar.live.is_started and monotonic() - self.start > PATIENCE:
            self.bar.start()

    def __exit__(self, *error: object) -> None:
        self.timer.cancel()
        if self.timer.is_alive():
            self.timer.join()
        if self.bar.live.is_started:
            self.bar.stop()
