"""Work that arrives together is done together, by one thread that owns the models, or by several that share them.

A thread takes what is due first, and with it whatever else may be decoded in the same batch: up to a number of
tokens, or until the first of them has waited for its few milliseconds. Threads that are idle at once share what waits.
A text is due when it could begin if nobody else had asked, so that a request of many does not hold up what comes behind
it. What fails is done again in halves, down to one by one, so that only the text that is to blame gets the error. What
nobody waits for any more is not done.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple, Protocol

from regard.server.refusals import Refusal

PAUSE = 0.004  # seconds that the first of a batch waits for others, where there is one thread
PASSED = 64  # texts that are looked at and left for later, while a batch is filled
SMOOTHING = 0.2  # how much the latest batch says of a thread's tokens a second, by which clients are told when to come


class Work(Protocol):
    """What is to be done; items of equal work may be done in one call."""

    def run(self, items: Sequence[Any], /) -> Sequence[Any]:
        """A result for each item, in order."""

    def __hash__(self) -> int: ...


class QueueListener(Protocol):
    """Whoever counts."""

    def batch(self, texts: int, seconds: float) -> None: ...

    def outcome(self, name: str, texts: int = 1) -> None: ...


class QueueItem(NamedTuple):
    """One text, what is to be done with it, and about how many tokens that is."""

    work: Work
    item: Any
    tokens: int


@dataclass(frozen=True)
class QueueLimits:
    """How much is done at once, how long the first of a batch waits for others, and how much may wait.

    Without `seconds` the first waits a little where there is one thread. Several need not wait: while one is at work,
    others arrive by themselves.
    """

    batch_tokens: int = 1024
    batch_texts: int = 128
    seconds: float | None = None
    queue_tokens: int = 32_768


@dataclass(eq=False)
class Job:
    """An item that waits, the future that its result goes to, and when it could begin if nobody else had asked."""

    queued: QueueItem
    future: asyncio.Future[Any]
    arrived: float
    due: float


class BatchQueue:
    """A bounded queue and its threads."""

    def __init__(
        self,
        listener: QueueListener,
        limits: QueueLimits | None = None,
        prepare: Callable[[], None] | None = None,
        threads: int = 1,
    ) -> None:
        """`prepare` runs once in each of the `threads` that will do the work: several only where models allow it."""
        self.listener, self.limits = listener, limits or QueueLimits()
        self.waiting: deque[Job] = deque()
        self.tokens, self.rate, self.closing = 0, 1000.0, False
        usual = PAUSE if threads == 1 else 0.0
        self.pause = usual if self.limits.seconds is None else self.limits.seconds
        self.idle = threads  # those that do no work now
        self.changed = threading.Condition()
        self.prepare = prepare
        self.threads = [
            threading.Thread(target=self._work, name=f"regard-batches-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self.threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Whether all threads still work."""
        return all(thread.is_alive() for thread in self.threads)

    async def submit(self, items: Sequence[QueueItem]) -> list[Any]:
        """The result of each item. A caller that is cancelled takes back what has not begun."""
        jobs = self._enqueue(items)
        try:
            return await asyncio.gather(*(job.future for job in jobs))
        finally:
            self._drop(jobs)

    def close(self) -> None:
        """Finish what waits, then end the threads."""
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        for thread in self.threads:
            thread.join()

    def _enqueue(self, items: Sequence[QueueItem]) -> list[Job]:
        tokens, now = sum(one.tokens for one in items), time.monotonic()
        with self.changed:
            room = self.limits.queue_tokens
            if self.closing:
                raise Refusal(503, "The server is shutting down", retry_after=5)
            if tokens > room:
                raise Refusal(413, f"That is too much for one request: about {tokens:,} tokens, where {room:,} fit")
            if self.tokens + tokens > room:
                self.listener.outcome("refused", len(items))
                sentence = "Too many requests are waiting already; please come again a little later"
                raise Refusal(429, sentence, retry_after=self.tokens / (self.rate * len(self.threads)))
            jobs = self._jobs(items, now)
            in_order = not (self.waiting and jobs and jobs[0].due < self.waiting[-1].due)
            self.waiting.extend(jobs)
            if not in_order:
                self.waiting = deque(sorted(self.waiting, key=lambda job: job.due))
            self.tokens += tokens
            self.changed.notify(len(jobs))
        return jobs

    def _jobs(self, items: Sequence[QueueItem], now: float) -> list[Job]:
        """One for each item; those that fill the first batch are due at once."""
        loop, before, jobs = asyncio.get_running_loop(), 0, []
        for one in items:
            wait = before // self.limits.batch_tokens * self.limits.batch_tokens / (self.rate * len(self.threads))
            jobs.append(Job(one, loop.create_future(), now, now + wait))
            before += one.tokens
        return jobs

    def _drop(self, jobs: list[Job]) -> None:
        unfinished = {job for job in jobs if not job.future.done() or job.future.cancelled()}
        if not unfinished:
            return
        for job in unfinished:
            job.future.cancel()
        with self.changed:
            dropped = [job for job in self.waiting if job in unfinished]
            self.waiting = deque(job for job in self.waiting if job not in unfinished)
            self.tokens -= sum(job.queued.tokens for job in dropped)
        if dropped:
            self.listener.outcome("dropped", len(dropped))

    def _work(self) -> None:
        if self.prepare is not None:
            self.prepare()
        while jobs := self._next():
            begin, tokens = time.monotonic(), sum(job.queued.tokens for job in jobs)
            self._run(jobs)
            seconds = max(time.monotonic() - begin, 1e-6)
            with self.changed:
                self.idle += 1
                self.rate += SMOOTHING * (tokens / seconds - self.rate)
            self.listener.batch(len(jobs), seconds)

    def _next(self) -> list[Job]:
        """The next batch; nothing once the queue is closed and empty."""
        with self.changed:
            while not self.closing:
                if not self.waiting:
                    self.changed.wait()
                    continue
                left = self.waiting[0].arrived + self.pause - time.monotonic()
                if left <= 0 or self.tokens >= self.limits.batch_tokens:
                    break
                self.changed.wait(left)
            batch = self._take(min(self.limits.batch_tokens, ceil(self.tokens / self.idle)))
            self.idle -= bool(batch)
            if self.waiting:
                self.changed.notify()  # of those that are idle, if there are any
            return batch

    def _take(self, room: int) -> list[Job]:
        """What is due first, and what else goes with it into so many tokens."""
        batch: list[Job] = []
        passed: list[Job] = []
        tokens = 0
        while self.waiting and len(batch) < self.limits.batch_texts and len(passed) < PASSED:
            job = self.waiting.popleft()
            fits = not batch or (job.queued.work == batch[0].queued.work and tokens + job.queued.tokens <= room)
            tokens += job.queued.tokens if fits else 0
            (batch if fits else passed).append(job)
        self.waiting.extendleft(reversed(passed))
        self.tokens -= tokens
        return batch

    def _run(self, jobs: list[Job]) -> None:
        jobs = [job for job in jobs if not job.future.cancelled()]
        if not jobs:
            return
        try:
            results = list(jobs[0].queued.work.run([job.queued.item for job in jobs]))
            assert len(results) == len(jobs), "a result for each item"
        except Exception as error:  # whatever it is: the thread must go on
            if len(jobs) == 1:
                self.listener.outcome("dropped" if jobs[0].future.cancelled() else "failed")
                settle([(jobs[0].future, error)])
                return
            self._run(jobs[: len(jobs) // 2])
            self._run(jobs[len(jobs) // 2 :])
            return
        self.listener.outcome("answered", len(jobs))  # before anybody knows: whoever has an answer finds it counted
        settle([(job.future, result) for job, result in zip(jobs, results, strict=True)])


def settle(results: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    """Give results, or an error, to those who wait in other threads; each of these is woken once."""
    loops = {future.get_loop() for future, _ in results}
    for loop in loops:
        with suppress(RuntimeError):  # the loop has ended, and with it everybody who waited
            loop.call_soon_threadsafe(give, [one for one in results if one[0].get_loop() is loop])


def give(results: Sequence[tuple[asyncio.Future[Any], Any]]) -> None:
    """To whoever still waits."""
    for future, result in results:
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
