"""How many texts a second does `regard serve` translate, beside its peers? `python -m benchmarks.serving`

A server is started on 127.0.0.1, and so many clients ask it for one text each, again and again, over HTTP. CTranslate2
is called directly in this process, by as many threads, one text a call; argostranslate too, where it is installed. All
get the same texts; every answer is compared with the translation that was made beforehand.

`--soak MINUTES` sends texts at twice the pace that was measured, whether answers come or not, and asks that none is
wrong, lost or swapped, and that the server's memory stays where it was. `--write` puts the tables into RESULTS.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, NamedTuple

import psutil
import torch

import regard
from benchmarks.report import markdown, provenance, write_section
from regard.training.evaluate.sets import read_data

TITLE = "How many texts does the server translate?"
COLUMNS = ("who", "clients", "texts/s", "p50", "p95", "wrong")
GROWTH = 32e6  # bytes that the server may have more at the end of a soak than after its beginning
WARM_UP = 0.2  # the share of a soak in which memory may still settle
QUEUE = 4096  # tokens that may wait in a soak: some seconds of work, so that there is something to refuse
IN_FLIGHT = 1500  # requests of a soak that wait at once at most: each is a connection
IDLE = 3.0  # seconds after which a connection is not used again: the server closes it after five, as it may
Truth = dict[str, str]


class Pace(NamedTuple):
    """What a number of clients saw."""

    who: str
    clients: int
    rate: float  # texts a second
    p50: float
    p95: float
    wrong: int

    def cells(self) -> tuple[str, ...]:
        numbers = f"{self.rate:,.0f}", f"{1000 * self.p50:.0f} ms", f"{1000 * self.p95:.0f} ms"
        return self.who, str(self.clients), *numbers, str(self.wrong)


def known_translations(task: Any, texts: list[str]) -> tuple[Truth, int]:
    """Those whose translation does not hang on its neighbours in a batch, and how many were left out.

    Two hypotheses may be so near that rounding decides, and sums are rounded otherwise in a batch of another shape.
    """
    ways = [[task.translate([text])[0] for text in texts]]
    for seed in range(3):
        order = random.Random(seed).sample(range(len(texts)), len(texts))
        size = (7, 32, 128)[seed]
        found = {}
        for first in range(0, len(order), size):
            numbers = order[first : first + size]
            found |= dict(zip(numbers, task.translate([texts[n] for n in numbers]), strict=True))
        ways.append([found[n] for n in range(len(texts))])
    truth = {text: some[0] for text, *some in zip(texts, *ways, strict=True) if len(set(some)) == 1}
    return truth, len(texts) - len(truth)


@contextmanager
def server(model: str, *options: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server in a process of its own: its port, and its process."""
    command = [sys.executable, "-m", "regard", "serve", model, "--port", "0", "--device", "cpu", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if port := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                    break
                print(line, end="", file=sys.stderr)
            else:
                raise SystemExit("the server did not start")
            yield int(port[1]), psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()


@dataclass
class Connection:
    """One client's line to the server, kept open."""

    port: int
    languages: tuple[str, str] = ("en", "fr")
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None
    answered: float = 0.0  # when, last

    async def ask(self, text: str) -> tuple[int, str]:
        """The status, and the translation or what was said instead."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        assert self.reader is not None
        body = json.dumps({"q": text, "source": self.languages[0], "target": self.languages[1]}).encode()
        head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = re.search(r"content-length: (\d+)", answer)
        assert length is not None
        content = json.loads(await self.reader.readexactly(int(length[1])))
        self.answered = time.perf_counter()
        return int(answer.split()[1]), content.get("translatedText", content.get("error"))

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def closed_loop(port: int, truth: Truth, clients: int, seconds: float) -> Pace:
    """Every client asks again as soon as it is answered."""
    texts, times, wrong = cycle(truth), list[float](), 0
    begin = time.perf_counter()

    async def client() -> None:
        nonlocal wrong
        connection = Connection(port)
        while time.perf_counter() - begin < seconds:
            text, asked = next(texts), time.perf_counter()
            wrong += await connection.ask(text) != (200, truth[text])
            times.append(time.perf_counter() - asked)
        connection.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return pace("regard serve, over HTTP", clients, times, time.perf_counter() - begin, wrong)


def pace(who: str, clients: int, times: list[float], seconds: float, wrong: int) -> Pace:
    cuts = statistics.quantiles(times, n=20)
    return Pace(who, clients, len(times) / seconds, cuts[9], cuts[18], wrong)


def called_directly(who: str, translate: Callable[[str], str], truth: Truth, clients: int, seconds: float) -> Pace:
    """A peer in this process, asked by so many threads."""
    texts, times, wrong, lock = cycle(truth), list[float](), 0, threading.Lock()
    begin = time.perf_counter()

    def client() -> None:
        nonlocal wrong
        while time.perf_counter() - begin < seconds:
            with lock:
                text = next(texts)
            asked = time.perf_counter()
            answer = translate(text)
            with lock:
                times.append(time.perf_counter() - asked)
                wrong += answer != truth[text]

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return pace(who, clients, times, time.perf_counter() - begin, wrong)


def peers(model: str, truth: Truth, clients: int, seconds: float) -> Iterator[Pace | tuple[str, ...]]:
    """CTranslate2 with the same weights, and LibreTranslate's engine with its own."""
    try:
        same = regard.load(model, "cpu", engine="ctranslate2")
    except (ImportError, regard.RegardError) as error:
        yield f"CTranslate2: {str(error).splitlines()[0]}", "", "", "", "", ""
    else:
        name = "CTranslate2, float32, called directly, a text a call"
        yield called_directly(name, lambda text: same.translate([text])[0], truth, clients, seconds)
    try:
        from argostranslate import translate
    except ImportError:
        yield "argostranslate: not installed here", "", "", "", "", ""
    else:
        name = "argostranslate, its own model, called directly (its texts differ)"
        yield called_directly(name, lambda text: translate.translate(text, "en", "fr"), truth, clients, seconds)


@dataclass
class Soak:
    """Texts at a pace of their own, and what became of them."""

    port: int
    truth: Truth
    rate: float
    seconds: float
    outcomes: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    idle: deque[Connection] = field(default_factory=deque)

    async def run(self) -> None:
        texts, asked = list(self.truth), set[asyncio.Task[None]]()
        order, begin = random.Random(0), time.perf_counter()
        sent = 0
        while (now := time.perf_counter() - begin) < self.seconds:
            due = int(now * self.rate) - sent
            sent += due
            for _ in range(due):
                if len(asked) >= IN_FLIGHT:
                    self.outcomes["not sent, too many in flight"] += 1
                    continue
                task = asyncio.ensure_future(self.ask(order.choice(texts)))
                asked.add(task)
                task.add_done_callback(asked.discard)
            await asyncio.sleep(0.01)
        await asyncio.gather(*asked)

    async def ask(self, text: str) -> None:
        asked = time.perf_counter()
        while self.idle and asked - self.idle[0].answered > IDLE:
            self.idle.popleft().close()
        connection = self.idle.pop() if self.idle else Connection(self.port)
        try:
            status, answer = await connection.ask(text)
        except (OSError, EOFError):
            self.outcomes["lost"] += 1
            connection.close()
            return
        self.idle.append(connection)
        if status == 429:
            self.outcomes["refused with 429"] += 1
        elif status != 200:
            self.outcomes[f"status {status}"] += 1
        elif answer != self.truth[text]:
            self.outcomes["swapped" if answer in self.truth.values() else "wrong"] += 1
        else:
            self.outcomes["right"] += 1
            self.times.append(time.perf_counter() - asked)


class Memory(threading.Thread):
    """What a process holds, every quarter of a second."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.process, self.sizes, self.ending = process, list[int](), threading.Event()

    def run(self) -> None:
        while not self.ending.wait(0.25):
            self.sizes.append(self.process.memory_info().rss)

    def around(self) -> tuple[float, float]:
        """After the warm-up and at the end, each the median of a tenth of all."""
        self.ending.set()
        tenth, after = max(len(self.sizes) // 10, 1), int(WARM_UP * len(self.sizes))
        return statistics.median(self.sizes[after : after + tenth]), statistics.median(self.sizes[-tenth:])


def soak(model: str, truth: Truth, capacity: float, minutes: float, options: list[str]) -> tuple[list[str], bool]:
    """Lines to print, and whether all was well."""
    with server(model, *options, "--queue-tokens", str(QUEUE)) as (port, process):
        memory = Memory(process)
        memory.start()
        run = Soak(port, truth, 2 * capacity, 60 * minutes)
        asyncio.run(run.run())
        before, after = memory.around()
    well = after - before <= GROWTH and not set(run.outcomes) - {
        "right", "refused with 429", "not sent, too many in flight",
    }  # fmt: skip
    cuts = statistics.quantiles(run.times, n=20) if len(run.times) > 1 else [0.0] * 19
    counts = ", ".join(f"{count:,} {name}" for name, count in sorted(run.outcomes.items()))
    return [
        f"Soak of {minutes:g} minutes at {run.rate:,.0f} texts a second, twice the best row above: {counts}; "
        f"{run.outcomes['right'] / run.seconds:,.0f} answers a second, p50 {1000 * cuts[9]:.0f} ms, "
        f"p95 {1000 * cuts[18]:.0f} ms.",
        f"The server held {before / 1e6:.0f} MB after a fifth of the time and {after / 1e6:.0f} MB at the end "
        f"(at most {GROWTH / 1e6:.0f} MB more are allowed): {'all is well' if well else 'NOT WELL'}.",
    ], well


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="grammar")
    parser.add_argument("--data", nargs="+", default=["grammar:test"])
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--seconds", type=float, default=10, help="for each row of the table")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    parser.add_argument("--serve", nargs="*", default=[], metavar="OPTION", help="for the server, without --: wait=8")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    options = [part for one in given.serve for part in f"--{one}".split("=")]
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    texts = list(dict.fromkeys(read_data(given.data, limit=given.texts).pairs().sources))
    truth, left_out = known_translations(regard.load(given.model, "cpu"), texts)
    rows: list[Any] = []
    with server(given.model, *options) as (port, _):
        asyncio.run(closed_loop(port, truth, max(given.clients), min(given.seconds, 2)))  # to warm up
        for clients in given.clients:
            rows.append(asyncio.run(closed_loop(port, truth, clients, given.seconds)))
    capacity = max(row.rate for row in rows)
    for clients in given.clients:
        rows += peers(given.model, truth, clients, given.seconds)
    cells = [row.cells() if isinstance(row, Pace) else row for row in rows]
    about = f"{len(truth)} texts of {', '.join(given.data)}, four beams, model `{given.model}`"
    if left_out:
        about += f"; {left_out} more hang on rounding, and were left out"
    lines = [provenance("cpu"), "", f"{about}.", "", *markdown(COLUMNS, list(dict.fromkeys(cells)))]
    well = True
    if given.soak:
        told, well = soak(given.model, truth, capacity, given.soak, options)
        lines += ["", *told]
    print("\n".join(lines))
    if given.write:
        write_section(TITLE, lines)
    if not well or any(row.wrong for row in rows if isinstance(row, Pace) and row.who.startswith("regard")):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
