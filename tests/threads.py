"""How many threads PyTorch has in the tests (`make test-portable` tries several), and work in a thread of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

THREADS = int(os.environ.get("REGARD_TEST_THREADS", "1"))


def in_a_thread(work: Callable[[], Any]) -> list[Exception]:
    """What it failed with, if it did."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return failures
