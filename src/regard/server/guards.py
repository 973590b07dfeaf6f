"""Who may ask, and how often: keys, and a bucket of tokens for each key or address."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from fastapi import Request

from regard.server.refusals import Refusal

SCHEMES = ("Bearer ", "DeepL-Auth-Key ")
REMEMBERED = 10_000  # clients whose buckets are kept: the one that has been quiet longest goes first


class Guard:
    """Lets a request in, or refuses it with 403 (no key, or a wrong one) or 429 (too many)."""

    def __init__(
        self, keys: Sequence[str] = (), rate: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`rate`: requests a minute of one client; so many may come at once after a pause."""
        self.keys = tuple(key.encode() for key in keys)
        self.rates = None if rate is None else RateLimiter(rate, clock)

    def admit(self, request: Request, key: str | None = None) -> None:
        """`key` where it does not stand in the header; whoever has a wrong one is counted by address."""
        key = header_key(request) if key is None else key
        known = not self.keys or any(secrets.compare_digest((key or "").encode(), one) for one in self.keys)
        address = request.client.host if request.client else "unknown"
        if self.rates is not None:
            self.rates.take(f"key {key}" if self.keys and known else f"address {address}")
        if not known:
            raise Refusal(403, "Invalid API key" if key else "Please give the API key of this server")


def header_key(request: Request) -> str | None:
    """The key of an Authorization header, as clients of OpenAI and DeepL send it."""
    header = request.headers.get("authorization", "")
    return next((header[len(scheme) :].strip() for scheme in SCHEMES if header.startswith(scheme)), None)


class RateLimiter:
    """A bucket for each client: every request takes one out, and they come back at an even rate."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.clock = rate, clock
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what was left, and when

    def take(self, client: str) -> None:
        now = self.clock()
        left, before = self.buckets.pop(client, (self.rate, now))
        left = min(left + (now - before) * self.rate / 60, self.rate)
        self.buckets[client] = (left - 1 if left >= 1 else left, now)
        while len(self.buckets) > REMEMBERED:
            self.buckets.popitem(last=False)
        if left < 1:
            sentence = f"Too many requests: {self.rate:g} a minute are answered here"
            raise Refusal(429, sentence, retry_after=(1 - left) * 60 / self.rate)
