"""The queue: what arrives together is done together, and nobody is harmed by anybody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from regard.server.batch_queue import PASSED, BatchQueue, QueueItem, QueueLimits
from regard.server.metrics import ServerMetrics
from regard.server.refusals import Refusal
from tests.server_cases import PATIENCE, until


@dataclass(eq=False)
class Doubling:
    """Doubles numbers, fails at negative ones, and waits while its gate is shut."""

    gate: threading.Event = field(default_factory=threading.Event)
    batches: list[list[int]] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)

    def run(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        self.threads.add(threading.get_ident())
        assert self.gate.wait(PATIENCE)
        if min(numbers) < 0:
            raise ValueError(f"{min(numbers)}")
        return [2 * number for number in numbers]


@contextmanager
def queue_of(threads: int = 1, **limits: Any) -> Iterator[tuple[BatchQueue, ServerMetrics]]:
    metrics = ServerMetrics()
    queue = BatchQueue(metrics, QueueLimits(**{"seconds": 0.0, **limits}), threads=threads)
    yield queue, metrics
    queue.close()


def items(work: Doubling, numbers: Sequence[int], tokens: int = 1) -> list[QueueItem]:
    return [QueueItem(work, number, tokens) for number in numbers]


def scenario(steps: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(steps(), PATIENCE))


async def begun(work: Doubling, batches: int) -> None:
    """Once so many batches have begun."""
    await asyncio.to_thread(until, lambda: len(work.batches) >= batches)


def outcomes(metrics: ServerMetrics, name: str) -> float:
    return metrics.registry.get_sample_value("regard_texts_total", {"outcome": name}) or 0


def test_what_arrives_together_is_done_together_by_one_thread() -> None:
    with queue_of() as (queue, metrics):

        async def steps() -> None:
            work = Doubling()
            first = asyncio.ensure_future(queue.submit(items(work, [0])))
            await begun(work, 1)
            others = [asyncio.ensure_future(queue.submit(items(work, [n, n + 100]))) for n in range(1, 20)]
            await asyncio.sleep(0)
            work.gate.set()
            assert await first == [0]
            assert await asyncio.gather(*others) == [[2 * n, 2 * n + 200] for n in range(1, 20)]
            assert [len(batch) for batch in work.batches] == [1, 38]
            assert len(work.threads) == 1

        scenario(steps)
        assert outcomes(metrics, "answered") == 39


def test_a_batch_has_so_many_tokens_and_texts_and_one_kind_of_work() -> None:
    with queue_of(batch_tokens=10, batch_texts=4) as (queue, _):

        async def steps() -> None:
            work, other = Doubling(), Doubling()
            other.gate.set()
            first = asyncio.ensure_future(queue.submit(items(work, [0])))
            await begun(work, 1)
            pending = [
                asyncio.ensure_future(queue.submit(some))
                for some in (items(work, [1, 2, 3], 4), items(other, [7]), items(work, [4, 5, 6, 7, 8], 1))
            ]
            await asyncio.sleep(0)
            work.gate.set()
            assert await asyncio.gather(first, *pending) == [[0], [2, 4, 6], [14], [8, 10, 12, 14, 16]]
            assert work.batches == [[0], [1, 2, 4, 5], [3, 6, 7, 8]]
            assert other.batches == [[7]]

        scenario(steps)


def test_no_more_is_looked_at_than_a_batch_may_need() -> None:
    with queue_of(batch_tokens=4) as (queue, _):

        async def steps() -> None:
            work = Doubling()
            first = asyncio.ensure_future(queue.submit(items(work, [0])))
            await begun(work, 1)
            queue.rate = 1e12  # so quick that all of the large one is due before the small one comes
            large = asyncio.ensure_future(queue.submit(items(work, list(range(1, PASSED + 2)), 3)))
            small = asyncio.ensure_future(queue.submit(items(work, [1000], 1)))
            await asyncio.sleep(0)
            work.gate.set()
            assert await asyncio.gather(first, large, small) == [
                [0], [2 * number for number in range(1, PASSED + 2)], [2000],
            ]  # fmt: skip
            assert work.batches[1] == [1]
            assert [2, 1000] in work.batches
            assert queue.tokens == 0

        scenario(steps)


def test_a_request_of_many_texts_does_not_hold_up_those_behind_it() -> None:
    with queue_of(batch_tokens=4) as (queue, _):

        async def steps() -> None:
            work = Doubling()
            first = asyncio.ensure_future(queue.submit(items(work, [0])))
            await begun(work, 1)
            queue.rate = 1e-3  # tokens a second: so slow that what comes behind comes in time
            large = asyncio.ensure_future(queue.submit(items(work, list(range(1, 41)))))
            small = asyncio.ensure_future(queue.submit(items(work, [1000, 1001])))
            other = asyncio.ensure_future(queue.submit(items(work, list(range(2001, 2009)))))
            await asyncio.sleep(0)
            work.gate.set()
            assert await asyncio.gather(first, large, small, other) == [
                [0], [2 * n for n in range(1, 41)], [2000, 2002], [2 * n for n in range(2001, 2009)],
            ]  # fmt: skip
            assert work.batches[1:5] == [[1, 2, 3, 4], [1000, 1001, 2001, 2002], [2003, 2004, 5, 6], [7, 8, 2005, 2006]]

        scenario(steps)


def test_the_first_waits_for_others_until_there_are_enough() -> None:
    """Its deadline is far beyond the patience of this test: only enough tokens can end it."""
    with queue_of(seconds=10 * PATIENCE, batch_tokens=3) as (queue, _):

        async def steps() -> None:
            work = Doubling()
            work.gate.set()
            pending = [asyncio.ensure_future(queue.submit(items(work, [n]))) for n in range(3)]
            assert await asyncio.gather(*pending) == [[0], [2], [4]]
            assert work.batches == [[0, 1, 2]]

        scenario(steps)


def test_threads_that_are_idle_share_what_waits() -> None:
    with queue_of(threads=2) as (queue, metrics):

        async def steps() -> None:
            work = Doubling()
            pending = asyncio.ensure_future(queue.submit(items(work, list(range(8)))))
            await begun(work, 2)
            assert sorted(work.batches) == [[0, 1, 2, 3], [4, 5, 6, 7]]
            later = asyncio.ensure_future(queue.submit(items(work, [8, 9])))
            work.gate.set()
            assert await pending == [2 * number for number in range(8)]
            assert await later == [16, 18]
            assert len(work.threads) == 2
            await asyncio.to_thread(until, lambda: queue.idle == 2)
            assert queue.tokens == 0

        scenario(steps)
        assert outcomes(metrics, "answered") == 10


def test_only_a_thread_that_is_alone_pauses_unless_it_is_said() -> None:
    for threads, seconds, pause in ((1, None, 0.004), (2, None, 0.0), (2, 0.5, 0.5), (1, 0.0, 0.0)):
        with queue_of(threads, seconds=seconds) as (queue, _):
            assert queue.pause == pause


def test_a_thread_that_is_alone_takes_all() -> None:
    with queue_of(threads=2) as (queue, _):

        async def steps() -> None:
            slow, quick = Doubling(), Doubling()
            quick.gate.set()
            first = asyncio.ensure_future(queue.submit(items(slow, [0])))
            await begun(slow, 1)
            assert await queue.submit(items(quick, [1, 2, 3, 4])) == [2, 4, 6, 8]
            assert quick.batches == [[1, 2, 3, 4]]
            slow.gate.set()
            assert await first == [0]

        scenario(steps)


def test_alone_it_waits_no_longer_than_its_deadline() -> None:
    with queue_of(seconds=0.01) as (queue, _):

        async def steps() -> None:
            work = Doubling()
            work.gate.set()
            assert await queue.submit(items(work, [4])) == [8]

        scenario(steps)


def test_poison_harms_nobody_else() -> None:
    with queue_of() as (queue, metrics):

        async def steps() -> None:
            work = Doubling()
            first = asyncio.ensure_future(queue.submit(items(work, [0])))
            await begun(work, 1)
            numbers = [1, 2, -3, 4, 5, -6, 7]
            pending = [asyncio.ensure_future(queue.submit(items(work, [number]))) for number in numbers]
            await asyncio.sleep(0)
            work.gate.set()
            await first
            results = await asyncio.gather(*pending, return_exceptions=True)
            assert [one if isinstance(one, list) else str(one) for one in results] == [
                [2], [4], "-3", [8], [10], "-6", [14],
            ]  # fmt: skip
            assert work.batches[1] == numbers
            assert await queue.submit(items(work, [9])) == [18]

        scenario(steps)
        assert outcomes(metrics, "failed") == 2


def test_what_nobody_waits_for_is_not_done() -> None:
    with queue_of() as (queue, metrics):

        async def steps() -> None:
            work = Doubling()
            first = asyncio.ensure_future(queue.submit(items(work, [0])))
            await begun(work, 1)
            leaving = asyncio.ensure_future(queue.submit(items(work, [1, 2])))
            staying = asyncio.ensure_future(queue.submit(items(work, [3])))
            await asyncio.sleep(0)
            leaving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaving
            assert queue.tokens == 1
            work.gate.set()
            assert await asyncio.gather(first, staying) == [[0], [6]]
            assert work.batches == [[0], [3]]

        scenario(steps)
        assert outcomes(metrics, "dropped") == 2


def test_too_much_is_refused_and_comes_in_later() -> None:
    with queue_of(queue_tokens=5) as (queue, metrics):

        async def steps() -> None:
            work = Doubling()
            first = asyncio.ensure_future(queue.submit(items(work, [0])))
            await begun(work, 1)
            waiting = asyncio.ensure_future(queue.submit(items(work, [1, 2], 2)))
            await asyncio.sleep(0)
            with pytest.raises(Refusal) as full:
                await queue.submit(items(work, [3], 2))
            assert full.value.status == 429
            assert full.value.retry_after is not None
            with pytest.raises(Refusal) as never:
                await queue.submit(items(work, [3], 6))
            assert (never.value.status, never.value.retry_after) == (413, None)
            work.gate.set()
            assert await asyncio.gather(first, waiting) == [[0], [2, 4]]
            assert await queue.submit(items(work, [3], 5)) == [6]

        scenario(steps)
        assert outcomes(metrics, "refused") == 1


def test_closing_finishes_what_waits_and_takes_nothing_more() -> None:
    async def steps() -> None:
        with queue_of() as (queue, _):
            work = Doubling()
            pending = [asyncio.ensure_future(queue.submit(items(work, [n]))) for n in range(3)]
            await begun(work, 1)
            closing = asyncio.ensure_future(asyncio.to_thread(queue.close))
            await asyncio.to_thread(until, lambda: queue.closing)
            with pytest.raises(Refusal, match="shutting down"):
                await queue.submit(items(work, [9]))
            work.gate.set()
            await closing
            assert await asyncio.gather(*pending) == [[0], [2], [4]]
            assert not queue.alive

    scenario(steps)
