"""A server that really listens, and models whose every answer is known."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import uvicorn
from fastapi import FastAPI

import regard
from regard.server.app import ServerOptions, create_app
from regard.server.registry import ModelRegistry, open_models
from regard.server.served_models import ServedModel
from regard.tasks.translator import Translation
from tests.subjects import ours

PATIENCE = 30  # seconds until a test that waits for something gives up
KEY = "a-key-of-this-test"


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """The address of the app at a free port of this machine; afterwards it is stopped as Ctrl-C would."""
    with listening(app) as (url, server, thread):
        yield url
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


@contextmanager
def listening(app: FastAPI) -> Iterator[tuple[str, uvicorn.Server, threading.Thread]]:
    """The same, with the server in hand."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=PATIENCE))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", server, thread
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait for it, for as long as anybody would."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.005)


class EchoTranslator:
    """Says every text in capitals. `hold` makes it wait until `release`; a text with "poison" makes it raise."""

    generation = "as a folder of others says"  # so that texts are given to it as they are
    threads, shared = 1, False

    class tokenizer:
        @staticmethod
        def encode(texts: Sequence[str]) -> list[list[int]]:
            return [[1] * len(text.split()) for text in texts]

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def search(self, texts: Sequence[str], nbest: int = 1, **options: Any) -> list[list[Translation]]:
        self.batches.append(list(texts))
        assert self.gate.wait(PATIENCE)
        if any("poison" in text for text in texts):
            raise ZeroDivisionError("poison")
        return [[Translation(text.upper() + "!" * rank, -1.0) for rank in range(nbest)] for text in texts]

    def hold(self) -> None:
        self.gate.clear()

    def release(self) -> None:
        self.gate.set()


def echo_models() -> tuple[ModelRegistry, EchoTranslator]:
    """A registry of one such model from English to French."""
    echo = EchoTranslator()
    return ModelRegistry([ServedModel("echo", echo, ("en", "fr"))]), echo  # type: ignore[arg-type]


@contextmanager
def echoing(options: ServerOptions | None = None) -> Iterator[tuple[str, EchoTranslator]]:
    """A running server of one such model."""
    models, echo = echo_models()
    with running(create_app(models, options)) as url:
        yield url, echo


def real_models(root: Path) -> ModelRegistry:
    """The translator that ships, and a small generator."""
    return open_models(["grammar", str(ours("decoder", root))], lambda folder: regard.load(folder, "cpu"))


def metric(url: str, line: str) -> float:
    """A number of /metrics, 0 where it is not told."""
    page = requests.get(f"{url}/metrics", timeout=PATIENCE).text.splitlines()
    return float(next((one.split()[-1] for one in page if one.startswith(line + " ")), 0))
