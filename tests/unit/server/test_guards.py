"""Keys and rates, by a clock of the test's own."""

from __future__ import annotations

import pytest
from fastapi import Request

from regard.server import guards
from regard.server.guards import Guard, RateLimiter, header_key
from regard.server.refusals import Refusal


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def request(authorization: str = "", address: str = "10.0.0.1") -> Request:
    headers = [(b"authorization", authorization.encode())] if authorization else []
    return Request({"type": "http", "headers": headers, "client": (address, 1)})


def refused(guard: Guard, asking: Request, key: str | None = None) -> int | None:
    try:
        guard.admit(asking, key)
    except Refusal as refusal:
        return refusal.status
    return None


def test_keys_are_read_as_each_client_sends_them() -> None:
    assert header_key(request("Bearer one")) == "one"
    assert header_key(request("DeepL-Auth-Key two")) == "two"
    assert header_key(request("Basic three")) is None
    assert header_key(request()) is None


def test_without_keys_everybody_may_ask_with_keys_whoever_has_one() -> None:
    assert refused(Guard(), request()) is None
    assert refused(Guard(), request("Bearer any")) is None
    guard = Guard(("one", "zwei é"))
    assert refused(guard, request()) == 403
    assert refused(guard, request("Bearer on")) == 403
    assert refused(guard, request(), "") == 403
    assert refused(guard, request("Bearer one")) is None
    assert refused(guard, request(), "zwei é") is None


def test_each_client_has_its_rate() -> None:
    clock = Clock()
    limiter = RateLimiter(2, clock)
    for client in ("a", "b"):
        limiter.take(client)
        limiter.take(client)
        with pytest.raises(Refusal) as refusal:
            limiter.take(client)
        assert (refusal.value.status, refusal.value.retry_after) == (429, 30.0)
    clock.now = 30.0
    limiter.take("a")
    with pytest.raises(Refusal):
        limiter.take("a")
    clock.now = 1e6
    limiter.take("a")
    limiter.take("a")
    with pytest.raises(Refusal):
        limiter.take("a")


def test_a_key_has_one_rate_wherever_it_is_used_and_guesses_count_by_address() -> None:
    guard = Guard(("one",), rate=2, clock=Clock())
    assert refused(guard, request("Bearer one", "10.0.0.1")) is None
    assert refused(guard, request("Bearer one", "10.0.0.2")) is None
    assert refused(guard, request("Bearer one", "10.0.0.3")) == 429
    assert [refused(guard, request(f"Bearer guess{n}", "10.0.0.9")) for n in range(4)] == [403, 403, 429, 429]


def test_clients_that_are_long_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "REMEMBERED", 3)
    limiter = RateLimiter(5, Clock())
    for number in range(10):
        limiter.take(str(number))
    assert list(limiter.buckets) == ["7", "8", "9"]
