"""Ctrl-C and SIGTERM ask a run to save and stop; a second Ctrl-C does not wait."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class StopSignals:
    """For the length of a with block; `why` is empty until someone asks."""

    def __init__(self) -> None:
        self.why = ""
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():  # elsewhere Python takes no signals
            self.before = {number: signal.signal(number, self.handle) for number in NAMES}
        return self

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.why and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.why = NAMES[signal.Signals(number)]

    def raise_if_asked(self) -> None:
        """Stop at once where all there is to save is saved: while text is read, and while a model is scored."""
        if self.why == "SIGTERM":
            raise SystemExit(143)
        if self.why:
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
