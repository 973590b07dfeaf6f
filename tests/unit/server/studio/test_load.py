"""A busy studio: nothing is lost, who must wait is told so, and who leaves takes the work along."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from fastapi import FastAPI

from regard.server.streaming import AbandonedError
from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.studio_app import StudioOptions, create_studio
from regard.server.studio.studio_service import StudioLimits
from regard.server.studio.work_desk import StopSignal
from tests.server_cases import PATIENCE, metric, running, until
from tests.studio_cases import CAT

LOOK = {"model": "grammar", "text": CAT}


@contextmanager
def serving(waiting: int = 64) -> Iterator[tuple[str, FastAPI]]:
    app = create_studio(StudioCatalogue.of(), StudioOptions(limits=StudioLimits(waiting=waiting), body_bytes=4000))
    with running(app) as url:
        yield url, app


@contextmanager
def held(app: FastAPI) -> Iterator[threading.Event]:
    """The thread of the models waits, until the event is set."""
    desk, gate = app.state.studio.desk, threading.Event()
    before = desk.queue._run
    app.state.begun = threading.Event()

    def wait(jobs: Any) -> None:
        app.state.begun.set()
        assert gate.wait(PATIENCE)
        before(jobs)

    desk.queue._run = wait
    try:
        yield gate
    finally:
        gate.set()


def ask(url: str) -> requests.Response:
    return requests.post(f"{url}/api/looks", json=LOOK, timeout=PATIENCE)


def test_two_hundred_at_once_are_all_answered_or_told_to_wait() -> None:
    with serving(waiting=32) as (url, app), ThreadPoolExecutor(200) as pool, held(app) as gate:
        answers = [pool.submit(ask, url) for _ in range(200)]
        until(lambda: metric(url, 'regard_texts_total{outcome="refused"}') >= 200 - 33)
        gate.set()
        outcomes = Counter(one.result().status_code for one in answers)
        assert sum(outcomes.values()) == 200
        assert set(outcomes) == {200, 429}
        assert outcomes[200] in (32, 33)  # those that waited, and the one that had begun
        busy = next(one.result() for one in answers if one.result().status_code == 429)
        assert int(busy.headers["Retry-After"]) >= 1
        assert "waiting" in busy.json()["error"]
        looks = {one.result().json()["id"] for one in answers if one.result().status_code == 200}
        assert len(looks) == 1
        until(lambda: metric(url, "regard_queue_texts") == 0)
        assert ask(url).status_code == 200


def test_who_leaves_takes_the_work_along() -> None:
    with serving() as (url, app), ThreadPoolExecutor(2) as pool, held(app) as gate:
        first = pool.submit(ask, url)
        assert app.state.begun.wait(PATIENCE)
        leaving = raw(url, b'{"model": "grammar", "text": "The dog sleeps."}')
        until(lambda: metric(url, "regard_queue_texts") >= 1)
        leaving.close()
        until(lambda: metric(url, 'regard_texts_total{outcome="dropped"}') == 1)
        gate.set()
        assert first.result().status_code == 200
        assert len(app.state.studio.looks.looks) == 1


def raw(url: str, body: bytes) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    head = (
        f"POST /api/looks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    connection.sendall(head.encode() + b"\r\n\r\n" + body)
    return connection


def test_long_work_ends_when_nobody_waits() -> None:
    with serving() as (url, app):
        begun, ended = threading.Event(), threading.Event()

        def long(stop: StopSignal) -> None:
            begun.set()
            try:
                while True:
                    stop.check()
            except AbandonedError:
                ended.set()
                raise

        async def route() -> None:
            await app.state.studio.desk.ask(long)

        app.router.add_api_route("/api/long", route)
        app.router.routes.insert(0, app.router.routes.pop())  # before the page, which answers to every path
        with pytest.raises(requests.exceptions.Timeout):
            requests.get(f"{url}/api/long", timeout=0.2)
        assert begun.wait(PATIENCE)
        assert ended.wait(PATIENCE)
        assert requests.get(f"{url}/api/runs", timeout=PATIENCE).status_code == 200


def test_a_body_that_is_too_large_is_not_read() -> None:
    with serving() as (url, _):
        large = requests.post(f"{url}/api/looks", json={**LOOK, "text": "x" * 5000}, timeout=PATIENCE)
        assert (large.status_code, list(large.json())) == (413, ["error"])
        broken = requests.post(f"{url}/api/looks", data="{", timeout=PATIENCE)
        assert (broken.status_code, list(broken.json())) == (400, ["error"])


def test_what_fails_is_said_and_the_next_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    with serving() as (url, app):
        working = app.state.studio.watched

        def failing(*_: Any) -> None:
            raise ZeroDivisionError("the inside of the server")

        app.state.studio.watched = failing
        failed = ask(url)
        assert failed.status_code == 500
        assert failed.json() == {"error": "The model failed on this (ZeroDivisionError); the server's log says where"}
        app.state.studio.watched = working
        assert ask(url).status_code == 200
    assert "the inside of the server" in caplog.text
