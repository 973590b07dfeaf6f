"""The server: every API over one queue, behind one guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import torch
from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from pydantic import BaseModel

from regard.server.batch_queue import BatchQueue, QueueLimits
from regard.server.deepl import deepl_router
from regard.server.guards import Guard
from regard.server.libretranslate import libretranslate_router
from regard.server.metrics import MEDIA_TYPE, ServerMetrics
from regard.server.middleware import HostCheck, Measured, WholeBody
from regard.server.openai import openai_router
from regard.server.refusals import Refusal, install_refusals
from regard.server.registry import ModelRegistry
from regard.server.service import TranslationService
from regard.version import __version__


@dataclass(frozen=True)
class ServerOptions:
    """Who may ask, how much, how often; how much is decoded together, and how much may wait."""

    api_keys: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()  # origins of pages that may ask
    rate: float | None = None  # requests a minute of one client
    body_bytes: int = 1 << 20
    body_seconds: float = 30.0
    characters: int = 10_000  # of a text
    queue: QueueLimits = field(default_factory=QueueLimits)


class Health(BaseModel):
    """That the server answers, and what it has."""

    status: str
    models: list[str]


def create_app(models: ModelRegistry, options: ServerOptions | None = None) -> FastAPI:
    """An application for any ASGI server. Its models belong to its own threads from now on."""
    options = options or ServerOptions()
    metrics = ServerMetrics()
    threads = torch.get_num_threads()  # which a new thread does not inherit
    queue = BatchQueue(metrics, options.queue, lambda: torch.set_num_threads(threads), models.share())
    metrics.watch_queue(lambda: len(queue.waiting), lambda: queue.tokens)
    guard = Guard(options.api_keys, options.rate)
    service = TranslationService(models, queue, guard, metrics, options.characters)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(queue.close)

    app = FastAPI(
        title="regard", version=__version__, description=__doc__, lifespan=lifespan, docs_url=None, redoc_url=None
    )  # pages that would show the API load their scripts from elsewhere; /openapi.json is there
    install_refusals(app)
    for router in (libretranslate_router(service), deepl_router(service), openai_router(service)):
        app.include_router(router)
    add_status(app, service)
    add_middleware(app, options, metrics)
    return app


def add_status(app: FastAPI, service: TranslationService) -> None:
    """Whether the server is well, and what it has counted."""

    @app.get("/health", tags=["Status"])
    async def health() -> Health:
        """ok, as long as texts are answered."""
        if not service.queue.alive:
            raise Refusal(500, "A thread that decodes has ended; please restart the server")
        return Health(status="ok", models=list(service.models.by_name))

    @app.get("/metrics", tags=["Status"], response_class=Response)
    async def counts(request: Request) -> Response:
        """For Prometheus."""
        service.guard.admit(request)
        return Response(service.metrics.page(), media_type=MEDIA_TYPE)


def add_middleware(app: FastAPI, options: ServerOptions, metrics: ServerMetrics) -> None:
    """The last one added is the first to see a request."""
    app.add_middleware(WholeBody, most=options.body_bytes, seconds=options.body_seconds)
    if options.cors:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(options.cors), allow_methods=["GET", "POST"], allow_headers=["*"]
        )
    if not options.api_keys:
        app.add_middleware(HostCheck)
    app.add_middleware(Measured, metrics=metrics)
