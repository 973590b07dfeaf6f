"""All work with models goes over one desk: a bounded queue before a thread that owns every model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from regard.errors import RegardError
from regard.server.batch_queue import BatchQueue, QueueItem, QueueLimits
from regard.server.metrics import ServerMetrics
from regard.server.refusals import LOG, Refusal
from regard.server.streaming import AbandonedError

T = TypeVar("T")


class StopSignal:
    """Whether anybody still waits for the answer: long work asks now and then, and leaves when nobody does."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def set(self) -> None:
        self.event.set()

    def check(self) -> None:
        """Leave, if nobody waits any more."""
        if self.event.is_set():
            raise AbandonedError


@dataclass(frozen=True, eq=False)
class DeskWork:
    """One question; no two are equal, so each is alone with the models."""

    answer: Callable[[StopSignal], Any]
    stop: StopSignal
    threads: int

    def run(self, items: Sequence[None]) -> list[Any]:
        self.stop.check()
        if torch.get_num_threads() != self.threads:  # the question before may have wanted fewer
            torch.set_num_threads(self.threads)
        return [self.answer(self.stop) for _ in items]


class WorkDesk:
    """Questions wait here, up to so many; beyond, whoever asks is told when to come again."""

    def __init__(self, waiting: int) -> None:
        self.threads = torch.get_num_threads()  # which a new thread does not inherit
        self.metrics = ServerMetrics()
        limits = QueueLimits(batch_tokens=1, batch_texts=1, seconds=0.0, queue_tokens=waiting)
        self.queue = BatchQueue(self.metrics, limits)
        self.metrics.watch_queue(lambda: len(self.queue.waiting), lambda: self.queue.tokens)

    async def ask(self, answer: Callable[[StopSignal], T]) -> T:
        """What `answer` gives, in the thread of the models. A caller that goes away takes its question along."""
        stop = StopSignal()
        try:
            (result,) = await self.queue.submit([QueueItem(DeskWork(answer, stop, self.threads), None, 1)])
        except RegardError as error:
            raise Refusal(400, in_a_sentence(error)) from error
        except Refusal:
            raise
        except Exception as error:
            LOG.error("a model failed", exc_info=error)
            raise Refusal(500, f"The model failed on this ({type(error).__name__}); the server's log says where") from (
                error
            )
        finally:
            stop.set()
        answered: T = result
        return answered

    def close(self) -> None:
        """Finish what waits, then end the thread."""
        self.queue.close()


def in_a_sentence(error: RegardError) -> str:
    """What is wrong, what was found and what to do, on one line."""
    because = f" ({error.found})" if error.found else ""
    advice = f": {error.do}" if error.do else ""
    return " ".join(f"{error.wrong}{because}{advice}".split())
