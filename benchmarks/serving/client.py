"""A light HTTP client: requests as bytes that were made beforehand, over connections that are kept."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import deque
from dataclasses import dataclass, field
from itertools import cycle
from time import perf_counter

from benchmarks.serving.figures import Tally, outcome_of

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
IDLE = 3.0  # seconds after which a connection is not used again: servers close it after five, as they may
IN_FLIGHT = 4000  # requests that wait at once at most: each is a connection
TICK = 0.002  # seconds between looks at what is due
PATIENCE = 120.0  # seconds after which an answer is lost


class ClosedError(OSError):
    """The server has hung up."""


class Connection(asyncio.Protocol):
    """One line to the server, with one request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.received, self.answer = bytearray(), asyncio.get_running_loop().create_future()
        self.used = 0.0  # when an answer came, last

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head = self.received.find(b"\r\n\r\n")
        if head < 0 or (length := LENGTH.search(self.received, 0, head + 2)) is None:
            return
        stop = head + 4 + int(length[1])
        if len(self.received) >= stop and not self.answer.done():
            self.answer.set_result((int(self.received[9:12]), bytes(self.received[head + 4 : stop])))
            del self.received[:stop]

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        if not self.answer.done():
            self.answer.set_exception(ClosedError(str(error)))
            self.answer.exception()  # nobody may be waiting for it

    async def ask(self, request: bytes) -> tuple[int, str]:
        """The status, and the translation or what was said instead."""
        if self.transport is None:
            raise ClosedError("closed")
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        async with asyncio.timeout(PATIENCE):
            status, body = await self.answer
        self.used = perf_counter()
        content = json.loads(body)
        return status, content.get("translatedText", content.get("error", ""))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()


async def connected(port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


@dataclass(frozen=True)
class Questions:
    """Texts as requests, and the answer to each."""

    requests: list[bytes]
    answers: list[str]
    known: frozenset[str]

    @classmethod
    def of(cls, truth: dict[str, str], languages: tuple[str, str]) -> Questions:
        requests = [request_of(text, languages) for text in truth]
        return cls(requests, list(truth.values()), frozenset(truth.values()))

    async def put(self, connection: Connection, number: int) -> str:
        """Ask one, and say what the answer is."""
        try:
            status, answer = await connection.ask(self.requests[number])
        except (OSError, TimeoutError):
            connection.close()
            return "lost"
        return outcome_of(status, answer, self.answers[number], self.known)


def request_of(text: str, languages: tuple[str, str]) -> bytes:
    """As a client of LibreTranslate asks."""
    body = json.dumps({"q": text, "source": languages[0], "target": languages[1]}).encode()
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def closed_loop(port: int, questions: Questions, clients: int, seconds: float, ramp: float) -> Tally:
    """Every client asks again as soon as it is answered; what is answered after the ramp and in time counts."""
    numbers, tally = cycle(range(len(questions.requests))), Tally()
    begin = perf_counter() + ramp
    end = begin + seconds

    async def client() -> None:
        connection = await connected(port)
        while (asked := perf_counter()) < end:
            outcome = await questions.put(connection, next(numbers))
            if outcome == "lost":
                connection = await connected(port)
            if begin <= (now := perf_counter()) < end:
                tally.note(outcome, now - asked)
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return tally


@dataclass
class OpenLoop:
    """Requests at a pace of their own, at random times, whether answers come or not."""

    port: int
    questions: Questions
    rate: float
    seconds: float
    seed: int = 0
    tally: Tally = field(default_factory=Tally)
    idle: deque[Connection] = field(default_factory=deque)

    async def run(self) -> Tally:
        rng, waiting = random.Random(self.seed), set[asyncio.Task[None]]()
        begin, due = perf_counter(), 0.0
        while due < self.seconds:
            while due <= perf_counter() - begin:
                number = rng.randrange(len(self.questions.requests))
                if len(waiting) >= IN_FLIGHT:
                    self.tally.note("not sent", 0.0)
                else:
                    task = asyncio.ensure_future(self.ask(number, begin + due))
                    waiting.add(task)
                    task.add_done_callback(waiting.discard)
                due += rng.expovariate(self.rate)
            await asyncio.sleep(TICK)
        await asyncio.gather(*waiting)
        for connection in self.idle:
            connection.close()
        return self.tally

    async def ask(self, number: int, due: float) -> None:
        """One request, timed from when it was due."""
        try:
            connection = await self.free_connection()
        except OSError:
            self.tally.note("lost", 0.0)
            return
        outcome = await self.questions.put(connection, number)
        self.tally.note(outcome, perf_counter() - due)
        if outcome != "lost":
            self.idle.append(connection)

    async def free_connection(self) -> Connection:
        """The one used last, so that the others may rest and close."""
        while self.idle and perf_counter() - self.idle[0].used > IDLE:
            self.idle.popleft().close()
        while self.idle:
            if (connection := self.idle.pop()).transport is not None:
                return connection
        return await connected(self.port)
