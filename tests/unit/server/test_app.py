"""The server as a whole: limits, clients that leave or dawdle, and how it stops."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from regard.server.app import ServerOptions, create_app
from regard.server.batch_queue import QueueLimits
from tests.server_cases import KEY, PATIENCE, echo_models, echoing, listening, metric, until

FIELDS = {"q": "a", "source": "en", "target": "fr"}
ERRORS = {"/translate": ["error"], "/v2/translate": ["message"], "/v1/completions": ["error"], "/nowhere": ["error"]}


def ask(url: str, q: str = "a", **more: Any) -> requests.Response:
    return requests.post(f"{url}/translate", json={**FIELDS, "q": q, **more}, timeout=PATIENCE)


def raw(url: str, data: bytes) -> socket.socket:
    """A connection on which so much has been sent."""
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(data)
    return connection


def post(body: bytes, length: int) -> bytes:
    head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}"
    return head.encode() + b"\r\n\r\n" + body


def test_every_error_is_json_in_the_words_of_its_api() -> None:
    with echoing(ServerOptions(body_bytes=2000, characters=100)) as (url, _):
        for path, keys in ERRORS.items():
            large = requests.post(f"{url}{path}", data="x" * 3000, timeout=PATIENCE)
            assert (large.status_code, list(large.json())) == (413, keys)
            assert "2,000 bytes" in large.text
            broken = requests.post(f"{url}{path}", data="{", timeout=PATIENCE)
            assert (broken.status_code, list(broken.json())) == (404 if path == "/nowhere" else 400, keys)
        assert requests.get(f"{url}/translate", timeout=PATIENCE).status_code == 405
        long = ask(url, "x" * 101)
        assert (long.status_code, "at most 100" in long.json()["error"]) == (413, True)

        def chunks() -> Any:  # with no length told beforehand
            yield from [b"x" * 500] * 9

        assert requests.post(f"{url}/translate", data=chunks(), timeout=PATIENCE).status_code == 413


def test_poison_gets_the_error_and_nobody_else() -> None:
    with echoing() as (url, echo), ThreadPoolExecutor(8) as pool:
        echo.hold()
        first = pool.submit(ask, url, "first")
        until(lambda: len(echo.batches) == 1)
        answers = [pool.submit(ask, url, text) for text in ("b", "poison", "c", "d")]
        until(lambda: metric(url, "regard_queue_texts") == 4)
        echo.release()
        assert first.result().json() == {"translatedText": "FIRST"}
        assert [one.result().status_code for one in answers] == [200, 500, 200, 200]
        assert [answers[n].result().json()["translatedText"] for n in (0, 2, 3)] == ["B", "C", "D"]
        assert answers[1].result().json() == {"error": "The model failed on this text (ZeroDivisionError)"}
        assert sorted(echo.batches[1]) == ["b", "c", "d", "poison"]
        assert ask(url, "e").json() == {"translatedText": "E"}


def test_what_does_not_fit_into_the_queue_is_told_when_to_come_again() -> None:
    options = ServerOptions(queue=QueueLimits(queue_tokens=16))
    with echoing(options) as (url, echo), ThreadPoolExecutor(8) as pool:
        echo.hold()
        waiting = [pool.submit(ask, url, "first")]
        until(lambda: len(echo.batches) == 1)
        waiting += [pool.submit(ask, url, text) for text in ("b", "c")]
        until(lambda: metric(url, "regard_queue_texts") == 2)
        refused = ask(url, "d")
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) >= 1
        assert "waiting" in refused.json()["error"]
        echo.release()
        assert [one.result().json()["translatedText"] for one in waiting] == ["FIRST", "B", "C"]
        assert ask(url, "d").status_code == 200


def test_a_client_that_leaves_takes_its_work_along() -> None:
    with echoing() as (url, echo), ThreadPoolExecutor(2) as pool:
        echo.hold()
        first = pool.submit(ask, url, "first")
        until(lambda: len(echo.batches) == 1)
        body = b'{"q": ["gone", "too"], "source": "en", "target": "fr"}'
        leaving = raw(url, post(body, len(body)))
        until(lambda: metric(url, "regard_queue_texts") == 2)
        leaving.close()
        until(lambda: metric(url, 'regard_texts_total{outcome="dropped"}') == 2)
        assert metric(url, "regard_queue_tokens") == 0
        echo.release()
        assert first.result().status_code == 200
        assert ask(url).status_code == 200
        assert ["gone", "too"] not in echo.batches
        assert metric(url, 'regard_requests_total{api="libretranslate",status="499"}') == 1


def test_a_client_that_dawdles_is_sent_away_and_delays_nobody() -> None:
    with echoing(ServerOptions(body_seconds=0.2)) as (url, _):
        slow = raw(url, post(b'{"q":', 100))
        assert ask(url).json() == {"translatedText": "A"}
        assert slow.recv(100).startswith(b"HTTP/1.1 408")
        slow.close()
        silent = raw(url, post(b"", 100))
        silent.close()
        assert ask(url).json() == {"translatedText": "A"}


def test_without_a_key_only_this_machine_is_answered() -> None:
    with echoing() as (url, _):
        for host, status in (("evil.example", 403), ("127.0.0.1:80", 200), ("localhost", 200), ("[::1]:5000", 200)):
            answer = requests.post(f"{url}/translate", json=FIELDS, headers={"Host": host}, timeout=PATIENCE)
            assert answer.status_code == status
    with echoing(ServerOptions(api_keys=(KEY,))) as (url, _):
        fields, named = {**FIELDS, "api_key": KEY}, {"Host": "translate.example"}
        assert requests.post(f"{url}/translate", json=fields, headers=named, timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize(("cors", "told"), [((), None), (("https://page.example",), "https://page.example")])
def test_pages_of_others_may_ask_only_when_allowed(cors: tuple[str, ...], told: str | None) -> None:
    with echoing(ServerOptions(cors=cors)) as (url, _):
        for origin, answered in (("https://page.example", told), ("https://other.example", None)):
            answer = requests.post(f"{url}/translate", json=FIELDS, headers={"Origin": origin}, timeout=PATIENCE)
            assert answer.headers.get("access-control-allow-origin") == answered


def test_health_metrics_and_openapi() -> None:
    with echoing(ServerOptions(api_keys=(KEY,))) as (url, _):
        assert requests.get(f"{url}/health", timeout=PATIENCE).json() == {"status": "ok", "models": ["echo"]}
        assert requests.get(f"{url}/metrics", timeout=PATIENCE).status_code == 403
        assert ask(url, api_key=KEY).status_code == 200
        page = requests.get(f"{url}/metrics", headers={"Authorization": f"Bearer {KEY}"}, timeout=PATIENCE)
        assert "regard_characters_total 1.0" in page.text
        assert 'regard_requests_total{api="libretranslate",status="200"} 2.0' in page.text
        described = requests.get(f"{url}/openapi.json", timeout=PATIENCE).json()
        translate = described["paths"]["/translate"]["post"]
        assert "application/json" in translate["requestBody"]["content"]
        assert translate["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].endswith("Response")
        assert {"400", "403", "429", "500"} < set(translate["responses"])
        assert {"/v2/translate", "/v1/chat/completions", "/detect", "/languages"} < set(described["paths"])


def test_what_is_in_flight_is_answered_before_the_end() -> None:
    models, echo = echo_models()
    others = set(threading.enumerate())
    app = create_app(models)
    (decoding,) = set(threading.enumerate()) - others
    with listening(app) as (url, server, thread), ThreadPoolExecutor(4) as pool:
        echo.hold()
        first = pool.submit(ask, url, "first")
        until(lambda: len(echo.batches) == 1)
        waiting = pool.submit(ask, url, "waiting")
        until(lambda: metric(url, "regard_queue_texts") == 1)
        server.should_exit = True
        threading.Timer(0.3, echo.release).start()
        assert first.result().json() == {"translatedText": "FIRST"}
        assert waiting.result().json() == {"translatedText": "WAITING"}
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert not decoding.is_alive()
        with pytest.raises(requests.ConnectionError):
            ask(url)
