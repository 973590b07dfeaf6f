"""What every request passes before an API sees it: its host, its size, its pace, and whether its client stays."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import perf_counter

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.metrics import ServerMetrics
from regard.server.refusals import Refusal, api_of, refusal_response

LOCAL = ("localhost", "127.0.0.1", "[::1]")


class HostCheck:
    """Without a key only names of this very machine are answered, so that no web page can pose as one of them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            host = Request(scope).headers.get("host", "")
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name.lower() not in LOCAL:
                sentence = f"This server answers to {' and '.join(LOCAL)} only, unless it is started with --api-key"
                await refusal_response(scope["path"], Refusal(403, sentence))(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Measured:
    """Counts requests and their seconds."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, begin = 499, perf_counter()  # which nobody was sent: the client had gone

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            self.metrics.answered(api_of(scope["path"]), status, perf_counter() - begin)


class WholeBody:
    """The body is read first, up to a size and within some seconds; an answer whose client leaves is broken off."""

    def __init__(self, app: ASGIApp, most: int, seconds: float) -> None:
        self.app, self.most, self.seconds = app, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                body = await self.read(scope, receive)
        except TimeoutError:
            late = Refusal(408, f"The request did not arrive within {self.seconds:g} seconds")
            await refusal_response(scope["path"], late)(scope, receive, send)
        except Refusal as refusal:
            await refusal_response(scope["path"], refusal)(scope, receive, send)
        else:
            if body is not None:
                await Exchange(receive, send, body).answer(self.app, scope)

    async def read(self, scope: Scope, receive: Receive) -> bytes | None:
        """All of it; None when the client left meanwhile."""
        declared = Request(scope).headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > self.most:
            raise self.too_large()
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self.most:
                raise self.too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def too_large(self) -> Refusal:
        return Refusal(413, f"The request is too large: at most {self.most:,} bytes are read here")


class Exchange:
    """One request whose body is there, and its answer."""

    def __init__(self, receive: Receive, send: Send, body: bytes) -> None:
        self._receive, self._send, self.body = receive, send, body
        self.pending, self.complete = True, False

    async def answer(self, app: ASGIApp, scope: Scope) -> None:
        self.departure = asyncio.ensure_future(self.departs())
        answer = asyncio.ensure_future(app(scope, self.receive, self.send))
        try:
            await asyncio.wait({answer, self.departure}, return_when=asyncio.FIRST_COMPLETED)
            if self.complete or answer.done():
                await answer
        finally:
            self.departure.cancel()
            if not answer.done():
                answer.cancel()
                with suppress(asyncio.CancelledError):
                    await answer

    async def departs(self) -> None:
        """Until the client has gone."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def receive(self) -> Message:
        if self.pending:
            self.pending = False
            return {"type": "http.request", "body": self.body, "more_body": False}
        await asyncio.wait({self.departure})
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self._send(message)
        self.complete = message["type"] == "http.response.body" and not message.get("more_body", False)
