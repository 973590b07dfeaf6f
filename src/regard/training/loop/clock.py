"""How long a run has trained, and how fast it goes."""

from __future__ import annotations

import math
import time


class Clock:
    """Time spent training, over all starts, and how fast it goes of late."""

    def __init__(self, before: float) -> None:
        self.before, self.begun, self.reported = before, time.monotonic(), 0.0
        self.tokens, self.marks = 0, [(time.monotonic(), 0, 0)]
        self.saved = before  # when the newest checkpoint was
        self.paused = 0.0  # seconds of this start that went into validations and checkpoints

    def seconds(self) -> float:
        return self.before + time.monotonic() - self.begun

    def busy(self) -> float:
        """Seconds of this start that went into steps."""
        return time.monotonic() - self.begun - self.paused

    def due(self, every: float) -> bool:
        now = time.monotonic()
        if now - self.reported < every:
            return False
        self.reported = now
        return True

    def speed(self, step: int) -> float:
        """Tokens a second over the last few reports."""
        self.marks = [*self.marks[-50:], (time.monotonic(), self.tokens, step)]
        (then, tokens, _), (now, total, _) = self.marks[0], self.marks[-1]
        return (total - tokens) / max(now - then, 1e-9)

    def left(self, steps: int) -> float:
        """Seconds, at the pace since the start."""
        done = [mark for mark in self.marks if mark[2]]
        if len(done) < 2 or done[-1][2] == done[0][2]:
            return math.nan
        return steps * (done[-1][0] - done[0][0]) / (done[-1][2] - done[0][2])
