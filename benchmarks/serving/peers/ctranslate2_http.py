"""CTranslate2 behind a small HTTP server: `python ctranslate2_http.py FOLDER [--batch N]`.

With `--batch 1` each request is a call of its own from a thread of its own, as LibreTranslate does. With more, what
waits is put together, sorted by CTranslate2 itself, and as many batches run at once as it has workers.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ctranslate2
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from tokenizers import Tokenizer

BEAMS = 4
TOKENS = 2048  # of a batch of its own


class TranslateRequest(BaseModel):
    """LibreTranslate's, as far as it is asked here."""

    q: str
    source: str
    target: str


class TranslateAnswer(BaseModel):
    """LibreTranslate's."""

    translatedText: str


class PlainTranslator:
    """Texts to texts by their own search with four beams."""

    def __init__(self, folder: Path, kind: str, inter: int, intra: int) -> None:
        self.source = Tokenizer.from_file(str(folder / "tokenizer.json"))
        target = folder / "tokenizer.target.json"
        self.target = Tokenizer.from_file(str(target)) if target.is_file() else self.source
        self.engine = ctranslate2.Translator(
            str(folder), device="cpu", compute_type=kind, inter_threads=inter, intra_threads=intra
        )

    def translate(self, texts: Sequence[str]) -> list[str]:
        rows = [encoding.tokens for encoding in self.source.encode_batch(list(texts))]
        results = self.engine.translate_batch(rows, beam_size=BEAMS, max_batch_size=TOKENS, batch_type="tokens")
        return [self.target.decode(self.ids(result.hypotheses[0])) for result in results]

    def ids(self, tokens: Sequence[str]) -> list[Any]:
        return [self.target.token_to_id(token) for token in tokens]


class MicroBatches:
    """What waits goes together, up to so many texts, to the next worker that is free."""

    def __init__(self, translator: PlainTranslator, most: int, workers: int) -> None:
        self.translator, self.most = translator, most
        self.pool, self.free = ThreadPoolExecutor(workers), workers
        self.waiting: deque[tuple[str, asyncio.Future[str]]] = deque()

    async def translate(self, text: str) -> str:
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((text, future))
        asyncio.get_running_loop().call_soon(self.start)  # after others that have arrived in the same turn
        return str(await future)

    def start(self) -> None:
        while self.free and self.waiting:
            share = min(self.most, -(-len(self.waiting) // self.free))  # workers that are free at once go halves
            batch = [self.waiting.popleft() for _ in range(share)]
            self.free -= 1
            task = asyncio.ensure_future(self.run(batch))
            task.add_done_callback(lambda _: self.start())

    async def run(self, batch: list[tuple[str, asyncio.Future[str]]]) -> None:
        texts, futures = zip(*batch, strict=True)
        try:
            answers = await asyncio.get_running_loop().run_in_executor(self.pool, self.translator.translate, texts)
        finally:
            self.free += 1
        for future, answer in zip(futures, answers, strict=True):
            future.set_result(answer)


def application(translator: PlainTranslator, batch: int, workers: int) -> FastAPI:
    app, batches = FastAPI(), MicroBatches(translator, batch, workers)

    async def together(asked: TranslateRequest) -> TranslateAnswer:
        return TranslateAnswer(translatedText=await batches.translate(asked.q))

    def alone(asked: TranslateRequest) -> TranslateAnswer:
        return TranslateAnswer(translatedText=translator.translate([asked.q])[0])

    app.post("/translate")(alone if batch == 1 else together)
    return app


def offline(translator: PlainTranslator, texts: list[str], seconds: float) -> float:
    """Texts a second when all are given at once, again and again."""
    translator.translate(texts)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        translator.translate(texts)
        count += len(texts)
    return count / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--type", default="float32")
    parser.add_argument("--inter", type=int, default=2)
    parser.add_argument("--intra", type=int, default=1)
    parser.add_argument("--offline", type=float, metavar="SECONDS", help="no server: the texts on standard input")
    given: Any = parser.parse_args()
    translator = PlainTranslator(given.folder, given.type, given.inter, given.intra)
    if given.offline is not None:
        print(offline(translator, sys.stdin.read().split("\n"), given.offline))
        return
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    app = application(translator, given.batch, given.inter)
    print(f"listening at http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    main()
