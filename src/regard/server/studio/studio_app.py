"""The studio: its API and its page, behind one door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Response

from regard.server.metrics import MEDIA_TYPE
from regard.server.middleware import Measured, WholeBody
from regard.server.refusals import install_refusals
from regard.server.studio.catalogue import StudioCatalogue
from regard.server.studio.change_routes import change_router
from regard.server.studio.door import Door
from regard.server.studio.look_routes import look_router
from regard.server.studio.page_files import PageFiles, add_page
from regard.server.studio.run_routes import run_router
from regard.server.studio.schema import StudioStart
from regard.server.studio.start_routes import start_router
from regard.server.studio.studio_service import StudioLimits, StudioService
from regard.version import __version__

ROUTERS = (start_router, look_router, change_router, run_router)


@dataclass(frozen=True)
class StudioOptions:
    """Who may come in, what the page opens with, and how much may be asked."""

    token: str | None = None
    device: str = "cpu"
    body_bytes: int = 1 << 20
    body_seconds: float = 30.0
    limits: StudioLimits = field(default_factory=StudioLimits)
    start: StudioStart = field(default_factory=lambda: StudioStart(page="steps"))
    page: PageFiles = field(default_factory=PageFiles)


def create_studio(catalogue: StudioCatalogue, options: StudioOptions | None = None) -> FastAPI:
    """An application for any ASGI server. Its models belong to its own thread from now on."""
    options = options or StudioOptions()
    service = StudioService(catalogue, options.device, options.limits, options.start)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="regard studio", version=__version__, description=__doc__, lifespan=lifespan, docs_url=None,
        redoc_url=None,
    )  # fmt: skip
    app.state.studio = service
    install_refusals(app)
    for router in ROUTERS:
        app.include_router(router(service), prefix="/api")

    @app.get("/metrics", include_in_schema=False)
    async def counts() -> Response:
        return Response(service.desk.metrics.page(), media_type=MEDIA_TYPE)

    add_page(app, options.page)
    app.add_middleware(WholeBody, most=options.body_bytes, seconds=options.body_seconds)
    app.add_middleware(Door, token=options.token)
    app.add_middleware(Measured, metrics=service.desk.metrics)
    return app


def api_description() -> dict[str, Any]:
    """What may be asked, as OpenAPI."""
    app = create_studio(StudioCatalogue())
    description = app.openapi()
    app.state.studio.close()
    return description
