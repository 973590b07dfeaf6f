"""What the first steps of a run take longer for, said while one waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from regard.training.report.events import Listener, Note


@dataclass
class WarmUp:
    """Stands around each recording of a shape; there will be as many as `shapes`."""

    listener: Listener
    shapes: int
    compiled: bool
    clock: Callable[[], float] = time.monotonic
    recorded: int = 0
    seconds: float = 0.0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        if not self.recorded:
            how = "compiled, then recorded" if self.compiled else "recorded"
            once = f"once for each of {self.shapes} shapes of batches" if self.shapes > 1 else "once"
            self.listener(Note(f"warming up: the update is {how}, {once}; these steps take longer"))
        begun = self.clock()
        yield
        self.recorded += 1
        self.seconds += self.clock() - begun
        if self.recorded == self.shapes:
            self.listener(Note(f"warmed up: {self.shapes} recorded in {self.seconds:.0f} s"))
