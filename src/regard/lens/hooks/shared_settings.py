"""Settings of everyone that would lead around a session, put aside while there is any; sessions end in any order."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import torch

from regard.attention.torch_names import COMPILER


class SharedContext:
    """A context for all sessions together: entered with the first and left with the last, whatever their order."""

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self.make, self.stack, self.sessions, self.lock = make, ExitStack(), 0, threading.Lock()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self.lock:
            if not self.sessions:
                self.stack.enter_context(self.make())
            self.sessions += 1
        try:
            yield
        finally:
            with self.lock:
                self.sessions -= 1
                if not self.sessions:
                    self.stack.close()


@SharedContext
@contextmanager
def slow_path() -> Iterator[None]:
    """Without the fused layers of nn.Transformer, which call no attention function at all."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@SharedContext
@contextmanager
def uncompiled() -> Iterator[None]:
    """Without what torch.compile has made, which calls nothing of ours: what was compiled runs as it was written."""
    if COMPILER not in sys.modules:  # then nothing has been compiled, and asking would import much
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
