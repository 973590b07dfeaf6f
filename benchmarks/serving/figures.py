"""What a load gave, in numbers: percentiles, what became of each request, where throughput stops growing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

GAIN = 0.03  # a level that is better by no more has gained nothing
PATIENCE = 2  # levels without a gain, after which throughput has stopped growing
MOST = 1024  # clients at once
OVERLOAD = "refused with 429", "not sent"  # what is no fault where more is offered than can be done


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that this share of all does not exceed; 0 of none."""
    ranked = sorted(values)
    return ranked[max(ceil(share * len(ranked)) - 1, 0)] if ranked else 0.0


@dataclass
class Tally:
    """What became of requests, and how long the right ones took."""

    outcomes: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)

    def note(self, outcome: str, seconds: float) -> None:
        self.outcomes[outcome] += 1
        if outcome in ("right", "wrong", "swapped"):
            self.times.append(seconds)

    def summary(self, seconds: float) -> dict[str, Any]:
        """What fits into a line of JSON."""
        p50, p95 = (percentile(self.times, share) for share in (0.5, 0.95))
        return {"rate": len(self.times) / seconds, "p50": p50, "p95": p95, "outcomes": dict(self.outcomes)}


def outcome_of(status: int, answer: str, expected: str, all_expected: frozenset[str]) -> str:
    """What an answer is: swapped if it belongs to another text."""
    if status == 429:
        return "refused with 429"
    if status != 200:
        return f"status {status}"
    if answer == expected:
        return "right"
    return "swapped" if answer in all_expected else "wrong"


class Level(NamedTuple):
    """What so many clients saw, and how many cores the server and the clients took."""

    clients: int
    rate: float  # answers a second
    p50: float
    p95: float
    outcomes: dict[str, int]
    server_cores: float
    client_cores: float

    @property
    def right(self) -> float:
        """The share of answers that are our own translation."""
        answers = sum(self.outcomes.get(name, 0) for name in ("right", "wrong", "swapped"))
        return self.outcomes.get("right", 0) / answers if answers else 0.0

    @property
    def faults(self) -> dict[str, int]:
        """What should not happen to any server."""
        return {name: count for name, count in self.outcomes.items() if name == "lost" or name.startswith("status")}


def saturated(rates: Sequence[float]) -> bool:
    """Whether the last levels have brought nothing: none of them is better than the best before."""
    if len(rates) <= PATIENCE:
        return False
    before = max(rates[:-PATIENCE])
    return max(rates[-PATIENCE:]) <= (1 + GAIN) * before


def rising_levels(measure: Callable[[int], Level], enough: float, most: int = MOST) -> Iterator[Level]:
    """Twice as many clients each time, until throughput has stopped growing and p95 is beyond `enough` seconds."""
    rates: list[float] = []
    clients = 1
    while clients <= most:
        level = measure(clients)
        yield level
        rates.append(level.rate)
        if saturated(rates) and level.p95 > enough:
            return
        clients *= 2


def capacity_of(levels: Sequence[Level]) -> Level:
    """The level with the most answers a second."""
    return max(levels, key=lambda level: level.rate)


def best_within(levels: Iterable[Level], limit: float) -> Level | None:
    """The level with the most answers a second whose 95th percentile is at most so many seconds."""
    fitting = [level for level in levels if level.p95 <= limit and not level.faults]
    return capacity_of(fitting) if fitting else None


class MemoryTrack(NamedTuple):
    """What a process held: after a fifth of the time, in the middle and at the end, and the most ever."""

    start: float
    middle: float
    end: float
    most: float

    @classmethod
    def of(cls, sizes: Sequence[float], warm_up: float = 0.2) -> MemoryTrack:
        """Each but the most is the median of a tenth of all."""
        tenth = max(len(sizes) // 10, 1)
        after, middle = int(warm_up * len(sizes)), len(sizes) // 2
        parts = sizes[after : after + tenth], sizes[middle : middle + tenth], sizes[-tenth:]
        start, half, end = (percentile(part, 0.5) for part in parts)
        return cls(start, half, end, max(sizes))


def bad_outcomes(outcomes: dict[str, int]) -> dict[str, int]:
    """Of a soak: all but right answers and what was refused in words."""
    return {name: count for name, count in outcomes.items() if name != "right" and name not in OVERLOAD}
