"""Ten minutes at twice what a server can do: nothing wrong, lost or swapped, and no growth of memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.serving.figures import Level, MemoryTrack, bad_outcomes
from benchmarks.serving.generator import LoadProcess
from benchmarks.serving.servers import MemoryWatch, ServerCommand, started

GROWTH = 32e6  # bytes that the server may have more in the middle or at the end than after a fifth of the time
OVER = 2.0  # times its capacity


class SoakResult(NamedTuple):
    """What came of a soak."""

    capacity: Level
    offered: float  # requests a second
    seconds: float
    answered: float  # texts a second
    p50: float
    p95: float
    outcomes: dict[str, int]
    memory: MemoryTrack
    server_cores: float
    client_cores: float

    @property
    def well(self) -> bool:
        grown = max(self.memory.middle, self.memory.end) - self.memory.start
        return grown <= GROWTH and not bad_outcomes(self.outcomes) and self.outcomes.get("right", 0) > 0

    def lines(self) -> list[str]:
        """For people."""
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.outcomes.items()))
        start, middle, end, most = (f"{size / 1e6:.0f} MB" for size in self.memory)
        return [
            f"Capacity: {self.capacity.rate:,.0f} texts a second, with {self.capacity.clients} clients; more of them "
            f"got no more. Then {self.seconds / 60:g} minutes of {self.offered:,.0f} requests a second, at random "
            f"times, whether answers came or not: {counts}. That is {self.answered:,.0f} answers a second, p50 "
            f"{1000 * self.p50:.0f} ms, p95 {1000 * self.p95:.0f} ms from when each was due.",
            f"The server held {start} after a fifth of the time, {middle} in the middle, {end} at the end, {most} at "
            f"most ({GROWTH / 1e6:.0f} MB of growth are allowed). It took {self.server_cores:.2f} cores, the clients "
            f"{self.client_cores:.2f}: {'all is well' if self.well else 'NOT WELL'}.",
        ]


def soak(
    server: ServerCommand, truth: dict[str, str], capacity: Level, minutes: float, languages: tuple[str, str]
) -> SoakResult:
    """An open loop: twice as many requests a second as the server has ever answered, from a fresh start."""
    offered, seconds = OVER * capacity.rate, 60 * minutes
    with started(server) as running, LoadProcess(languages) as load:
        watch = MemoryWatch(running.process)
        watch.start()
        before = running.cpu()
        result: dict[str, Any] = load.put(running.port, truth, rate=offered, seconds=seconds)
        used = running.cpu() - before
        memory = MemoryTrack.of(watch.stop())
    return SoakResult(
        capacity, offered, seconds, result["rate"], result["p50"], result["p95"], result["outcomes"], memory,
        used / seconds, result["cpu"] / seconds,
    )  # fmt: skip
